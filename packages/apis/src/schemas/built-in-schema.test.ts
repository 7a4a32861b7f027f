import { describe, expect, test } from '@jest/globals';
import { isStatusError, type JsonObject } from '@multiplane/apimachinery';
import { builtInResources } from '../built-in-resources.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { component, componentNames } from './components.ts';

const definitionOf = (kind: string, group = ''): ResourceDefinition =>
  builtInResources().find((definition) => definition.kind === kind && definition.group === group)!;

/** What a body of the kind looks like once decoded and defaulted. */
function shaped(kind: string, body: JsonObject, group = ''): JsonObject {
  const { schema, version } = definitionOf(kind, group);
  const object: JsonObject = {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: {},
    ...body,
  };
  schema.decodeTyped(object);
  schema.prune(object);
  schema.applyDefaults(object);
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = object;
  return rest;
}

describe('decoding', () => {
  test('forgets empty optional fields and keeps pointers to zero', () => {
    expect(shaped('ConfigMap', { data: {}, binaryData: null, immutable: false })).toEqual({ immutable: false });
    expect(shaped('Lease', { spec: { holderIdentity: '' } }, 'coordination.k8s.io')).toEqual({
      spec: { holderIdentity: '' },
    });
  });

  test('writes what a typed server always writes', () => {
    expect(shaped('Role', {}, 'rbac.authorization.k8s.io')).toEqual({ rules: null });
    expect(shaped('Role', { rules: [] }, 'rbac.authorization.k8s.io')).toEqual({ rules: [] });
    expect(shaped('Event', { involvedObject: { name: 'x' } })).toEqual({
      involvedObject: { name: 'x' },
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    });
    expect(shaped('LimitRange', {})).toEqual({ spec: { limits: null } });
  });

  test.each([
    ['1.5', '1500m'],
    ['0.5Ki', '512'],
    ['1024Mi', '1Gi'],
    ['1n', '1m'],
    [3, '3'],
    ['1e3', '1e3'],
  ])('gives the quantity %p its canonical form', (given, canonical) => {
    expect(shaped('ResourceQuota', { spec: { hard: { 'requests.cpu': given } } })).toEqual({
      spec: { hard: { 'requests.cpu': canonical } },
      status: {},
    });
  });

  test('writes times in UTC', () => {
    const body = { involvedObject: {}, firstTimestamp: '2026-01-01T01:00:00.5+01:00' };
    expect(shaped('Event', body)['firstTimestamp']).toBe('2026-01-01T00:00:00Z');
  });

  test.each([
    ['ConfigMap', '', { binaryData: { b: '***' } }, 'illegal base64 data at input byte 0'],
    ['ResourceQuota', '', { spec: { hard: { cpu: 'x' } } }, 'quantities must match the regular expression'],
    ['Lease', 'coordination.k8s.io', { spec: { renewTime: '2026-01-02T03:04:05Z' } }, 'parsing time'],
  ])('refuses a %s with a text it cannot read', (kind, group, body: JsonObject, why) => {
    let refusal: unknown;
    try {
      shaped(kind, body, group);
    } catch (error) {
      refusal = error;
    }
    expect(isStatusError(refusal, 'BadRequest')).toBe(true);
    expect((refusal as Error).message).toContain(why);
  });

  test.each([
    [
      { items: { type: 'object', properties: { a: { type: 'string', nope: 1, properties: { b: { 'x-nope': 1 } } } } } },
      '',
    ],
    [{ items: { type: 'array', items: { type: 'object', properties: { a: { nope: 1 } } } } }, ''],
    [{ items: { allOf: [{ nope: 1 }], not: { nope: 1 } } }, ''],
    [{ items: { 'x-kubernetes-validations': [{ rule: 'true', nope: 1 }], externalDocs: { url: 'u', nope: 1 } } }, ''],
    [{ additionalProperties: { type: 'object', properties: { a: { type: 'string', nope: 1 } } } }, ''],
    [{ items: { default: { nope: 1 }, enum: [{ nope: 1 }], example: { nope: 1 } } }, 'nope'],
  ])('of the members of %j none stays that Kubernetes does not know', (inner, kept) => {
    const schema = { type: 'object', properties: { list: { type: 'array', ...inner } } };
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
    const object = shaped('CustomResourceDefinition', { spec: { versions: [version] } }, 'apiextensions.k8s.io');
    expect(JSON.stringify(object).match(/nope/)?.[0] ?? '').toBe(kept);
  });

  test('the status of subresources has no members', () => {
    const subresources = { status: { nope: 1 }, scale: { specReplicasPath: '.a', statusReplicasPath: '.b', nope: 1 } };
    const version = { name: 'v1', served: true, storage: true, subresources };
    const crd = shaped('CustomResourceDefinition', { spec: { versions: [version] } }, 'apiextensions.k8s.io');
    const [stored] = (crd['spec'] as JsonObject)['versions'] as JsonObject[];
    expect(stored?.['subresources']).toEqual({
      status: {},
      scale: { specReplicasPath: '.a', statusReplicasPath: '.b' },
    });
  });

  test('schemas inside of schemas lose fields that no schema has', () => {
    const schema = { type: 'array', items: { type: 'string', nope: 1 } };
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
    const crd = shaped('CustomResourceDefinition', { spec: { versions: [version] } }, 'apiextensions.k8s.io');
    const versions = (crd['spec'] as JsonObject)['versions'];
    expect(versions).toEqual([
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'array', items: { type: 'string' } } },
      },
    ]);
  });
});

describe('defaults of types', () => {
  test('stringData goes into data, base64 encoded, and wins', () => {
    const secret = shaped('Secret', { data: { a: 'b2xk', c: 'Yw==' }, stringData: { a: 'x', b: 'ü' } });
    expect(secret).toEqual({ data: { a: 'eA==', b: 'w7w=', c: 'Yw==' }, type: 'Opaque' });
  });

  test('a key called __proto__ is a key like any other', () => {
    const secret = shaped('Secret', { stringData: JSON.parse('{"__proto__":"x"}') as JsonObject });
    expect(JSON.stringify(secret)).toBe('{"data":{"__proto__":"eA=="},"type":"Opaque"}');
  });

  test('subjects and roles belong to the group of RBAC', () => {
    const body = {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    };
    expect(shaped('RoleBinding', body, 'rbac.authorization.k8s.io')).toEqual({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    });
  });

  test('limits of containers are filled from each other', () => {
    const limit = {
      type: 'Container',
      max: { cpu: '2', memory: '1Gi' },
      min: { cpu: '100m', 'ephemeral-storage': '1Gi' },
    };
    expect(shaped('LimitRange', { spec: { limits: [limit, { type: 'Pod', max: { cpu: '4' } }] } })).toEqual({
      spec: {
        limits: [
          {
            ...limit,
            default: { cpu: '2', memory: '1Gi' },
            defaultRequest: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi' },
          },
          { type: 'Pod', max: { cpu: '4' } },
        ],
      },
    });
  });

  test('webhooks get their policies', () => {
    const webhook = {
      name: 'a.b.c',
      clientConfig: { service: { name: 's', namespace: 'n' } },
      rules: [{ operations: ['CREATE'] }],
    };
    const shapedWebhook = (kind: string): unknown =>
      shaped(kind, { webhooks: [webhook] }, 'admissionregistration.k8s.io')['webhooks'];
    const common = {
      name: 'a.b.c',
      clientConfig: { service: { name: 's', namespace: 'n', port: 443 } },
      rules: [{ operations: ['CREATE'], scope: '*' }],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      admissionReviewVersions: null,
    };
    expect(shapedWebhook('ValidatingWebhookConfiguration')).toEqual([common]);
    expect(shapedWebhook('MutatingWebhookConfiguration')).toEqual([{ ...common, reinvocationPolicy: 'Never' }]);
  });

  test('definitions get the names they leave out', () => {
    const crd = shaped(
      'CustomResourceDefinition',
      {
        spec: { group: 'g.example.com', scope: 'Cluster', names: { plural: 'widgets', kind: 'Widget' }, versions: [] },
      },
      'apiextensions.k8s.io',
    );
    expect(crd['spec']).toEqual({
      group: 'g.example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [],
      conversion: { strategy: 'None' },
    });
  });

  test('flow control gets its numbers', () => {
    const group = 'flowcontrol.apiserver.k8s.io';
    expect(shaped('FlowSchema', { spec: { priorityLevelConfiguration: { name: 'x' } } }, group)).toEqual({
      spec: { priorityLevelConfiguration: { name: 'x' }, matchingPrecedence: 1000 },
      status: {},
    });
    const limited = { limitResponse: { type: 'Queue', queuing: { queues: 10 } } };
    expect(shaped('PriorityLevelConfiguration', { spec: { type: 'Limited', limited } }, group)).toEqual({
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 30,
          lendablePercent: 0,
          limitResponse: { type: 'Queue', queuing: { queues: 10, handSize: 8, queueLengthLimit: 50 } },
        },
      },
      status: {},
    });
  });
});

test('strategic merge knows the keys of lists', () => {
  const { patchMeta } = definitionOf('ServiceAccount').schema;
  expect(patchMeta.field('secrets')).toMatchObject({ strategies: ['merge'], mergeKey: 'name' });
  expect(patchMeta.field('imagePullSecrets')).toMatchObject({ strategies: [], mergeKey: undefined });
  expect(patchMeta.field('metadata')?.field('ownerReferences')).toMatchObject({
    strategies: ['merge'],
    mergeKey: 'uid',
  });
});

test('every kind and every field is described', () => {
  const silent: string[] = [];
  for (const name of componentNames) {
    const { description, properties } = component(name) as { description?: string; properties?: JsonObject };
    if (description === undefined) silent.push(name);
    for (const [field, property] of Object.entries(properties ?? {}))
      if ((property as JsonObject)['description'] === undefined) silent.push(`${name}.${field}`);
  }
  expect(silent).toEqual([]);
});
