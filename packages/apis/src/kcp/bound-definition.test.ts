import { expect, test } from '@jest/globals';
import { CustomResources } from '../apiextensions/custom-resources.ts';
import type { APIResourceSchema } from './api-sharing.ts';
import { definitionOfSchema } from './bound-definition.ts';

const version = { served: true, storage: true, schema: { type: 'object' }, subresources: { status: {} } };
const schema: APIResourceSchema = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: {
    name: 'v1.widgets.example.dev',
    uid: '1-2',
    annotations: { 'kcp.io/cluster': 'abc', 'api-approved.kubernetes.io': 'https://example.dev', other: 'x' },
  },
  spec: {
    group: 'example.dev',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    scope: 'Namespaced',
    versions: [{ ...version, name: 'v1' }],
    conversion: { strategy: 'None' },
  },
};

test('a schema means a definition that knows where it comes from', () => {
  const { metadata, spec } = definitionOfSchema(schema);
  expect(metadata).toEqual({
    name: '1-2',
    annotations: {
      'apis.kcp.io/bound-crd': '',
      'apis.kcp.io/schema-cluster': 'abc',
      'apis.kcp.io/schema-name': 'v1.widgets.example.dev',
      'api-approved.kubernetes.io': 'https://example.dev',
    },
  });
  expect(spec).not.toHaveProperty('conversion');
});

test('conversion matters between versions', () => {
  const versions = [
    { ...version, name: 'v1' },
    { ...version, name: 'v2', storage: false },
  ];
  const webhook = { clientConfig: { url: 'https://example.dev' } };
  const spec = { ...schema.spec!, versions, conversion: { strategy: 'Webhook' as const, webhook } };
  expect(definitionOfSchema({ ...schema, spec })['spec']).toMatchObject({
    conversion: { strategy: 'Webhook', webhook },
  });
});

test('what it means is served like any definition', () => {
  const served = new CustomResources().definitionsOf(definitionOfSchema(schema), new AbortController().signal, 'id');
  expect(served.map(({ resource, storage }) => [resource, storage?.prefix])).toEqual([
    ['widgets', '/registry/example.dev/widgets/id/'],
  ]);
});

test('fields that a schema declares as selectable are field selectors of the bound resource', () => {
  const properties = { spec: { type: 'object', properties: { size: { type: 'string' } } } };
  const selectable = { ...version, name: 'v1', schema: { type: 'object', properties } };
  const spec = { ...schema.spec!, versions: [{ ...selectable, selectableFields: [{ jsonPath: '.spec.size' }] }] };
  const definition = definitionOfSchema({ ...schema, spec });
  const [served] = new CustomResources().definitionsOf(definition, new AbortController().signal, 'id');
  expect(Object.keys(served?.fieldSelectors ?? {})).toEqual(['spec.size']);
});

test('names of objects are subdomains unless the schema takes any segment of a path', () => {
  const problems = (nameValidation: 'DNS1123Subdomain' | 'PathSegmentName', name: string): string[] => {
    const definition = definitionOfSchema({ ...schema, spec: { ...schema.spec!, nameValidation } });
    const [served] = new CustomResources().definitionsOf(definition, new AbortController().signal, 'id');
    return served?.strategy.validateName(name) ?? ['not served'];
  };
  expect(problems('PathSegmentName', 'System:Node@1')).toEqual([]);
  expect(problems('PathSegmentName', '..')).not.toEqual([]);
  expect(problems('DNS1123Subdomain', 'System:Node@1')).not.toEqual([]);
});
