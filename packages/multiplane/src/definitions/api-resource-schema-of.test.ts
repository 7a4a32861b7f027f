import { expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { schemaOf } from './api-resource-schema-of.ts';

const definition = (metadata: JsonObject): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gateways.gateway.networking.k8s.io', ...metadata },
  spec: {
    group: 'gateway.networking.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'gateways', kind: 'Gateway', categories: ['gateway-api'] },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } }, deprecated: true },
    ],
  },
  status: { storedVersions: ['v1'] },
});

test('a schema has the API of a definition, without its object metadata', () => {
  expect(schemaOf(definition({ labels: { a: 'b' }, uid: 'x' }), 'v2')).toEqual({
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v2.gateways.gateway.networking.k8s.io' },
    spec: {
      group: 'gateway.networking.k8s.io',
      scope: 'Namespaced',
      names: {
        plural: 'gateways',
        singular: 'gateway',
        kind: 'Gateway',
        listKind: 'GatewayList',
        categories: ['gateway-api'],
      },
      versions: [
        { name: 'v1', served: true, storage: true, deprecated: true, schema: { type: 'object' }, subresources: {} },
      ],
      conversion: { strategy: 'None' },
    },
  });
});

test('selectable fields are copied', () => {
  const { spec, ...rest } = definition({});
  const [version] = (spec as { versions: JsonObject[] }).versions;
  const selectableFields = [{ jsonPath: '.spec.gatewayClassName' }];
  const versions = [{ ...version, selectableFields }];
  expect(schemaOf({ ...rest, spec: { ...(spec as JsonObject), versions } }, 'v2')['spec']).toMatchObject({
    versions: [{ selectableFields }],
  });
});

test('the approval annotation of a Kubernetes API group is copied', () => {
  const annotations = { 'api-approved.kubernetes.io': 'https://github.com/x', other: 'y' };
  expect(schemaOf(definition({ annotations }), 'v1')['metadata']).toEqual({
    name: 'v1.gateways.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/x' },
  });
});

test('no annotation of a definition in another group is copied', () => {
  const annotations = {
    'api-approved.kubernetes.io': 'https://github.com/x',
    'controller-gen.kubebuilder.io/version': 'v1',
  };
  for (const group of ['cluster.x-k8s.io', 'example.com', 'k8s.io.example.com']) {
    const other = definition({ annotations });
    (other['spec'] as JsonObject)['group'] = group;
    expect(schemaOf(other, 'v1')['metadata']).toEqual({ name: `v1.gateways.${group}` });
  }
});

test('other kinds are rejected', () => {
  expect(() => schemaOf({ apiVersion: 'v1', kind: 'Secret' }, 'v1')).toThrow(
    'error converting CRD: v1 Secret is not a CustomResourceDefinition of apiextensions.k8s.io/v1',
  );
});

test('a v1beta1 definition is converted', () => {
  const schema = { type: 'object', properties: { spec: { type: 'object' } } };
  const old: JsonObject = {
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'wells.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      version: 'v1',
      names: { plural: 'wells', kind: 'Well' },
      validation: { openAPIV3Schema: schema },
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: 'Depth', type: 'integer', JSONPath: '.spec.depth' }],
    },
  };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { ...schema, 'x-kubernetes-preserve-unknown-fields': true },
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: 'Depth', type: 'integer', jsonPath: '.spec.depth' }],
  };
  expect(schemaOf(old, 'v1')).toMatchObject({ spec: { versions: [version], conversion: { strategy: 'None' } } });
  const spec = {
    ...(old['spec'] as JsonObject),
    preserveUnknownFields: false,
    versions: [{ name: 'v2', served: true, storage: true, subresources: {} }],
    conversion: { strategy: 'Webhook', webhookClientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] },
  };
  expect(schemaOf({ ...old, spec }, 'v1')).toMatchObject({
    spec: {
      versions: [{ ...version, name: 'v2', schema, subresources: {} }],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] },
      },
    },
  });
});
