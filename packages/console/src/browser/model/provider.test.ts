import { expect, test } from '@jest/globals';
import {
  claimState,
  exportedResources,
  firstProblem,
  freshnessOf,
  scopeObjects,
  slicesOf,
  stateOf,
  transferText,
  type ApiExport,
  type ApiResourceSchema,
  type CachedResource,
  type EndpointSlice,
} from './provider.ts';

const anExport = (more: Partial<ApiExport> = {}): ApiExport => ({ metadata: { name: 'widgets' }, ...more });
const condition = (type: string, status: string, message = '') => ({ type, status, message });

test('an export is ready with an identity and without a condition that is not met', () => {
  expect(stateOf(anExport())).toMatchObject({ tone: 'info', text: 'Preparing' });
  expect(
    stateOf(anExport({ status: { identityHash: 'abc', conditions: [condition('IdentityValid', 'True')] } })),
  ).toEqual({
    tone: 'good',
    text: 'Ready',
  });
  expect(
    stateOf(
      anExport({
        status: {
          identityHash: 'abc',
          conditions: [condition('IdentityValid', 'True'), condition('VirtualStorageValid', 'False', 'no slice')],
        },
      }),
    ),
  ).toMatchObject({ tone: 'bad', text: 'VirtualStorageValid', detail: 'no slice' });
  expect(stateOf(anExport({ metadata: { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z' } }))).toMatchObject({
    text: 'Deleting',
  });
});

test('the worst condition is named first', () => {
  expect(firstProblem([])).toBeUndefined();
  expect(firstProblem([condition('A', 'Unknown'), condition('Ready', 'False'), condition('B', 'True')])?.type).toBe(
    'Ready',
  );
});

const schema: ApiResourceSchema = {
  metadata: { name: 'v1.widgets.example.com' },
  spec: {
    names: { kind: 'Widget', plural: 'widgets' },
    scope: 'Namespaced',
    versions: [
      { name: 'v1', served: true, storage: true },
      { name: 'v1beta1', served: false, storage: false, deprecated: true },
    ],
  },
};

test('resources of an export with the versions of their schemas; a missing schema is seen once schemas are known', () => {
  const exported = anExport({
    spec: {
      resources: [
        { group: 'example.com', name: 'widgets', schema: 'v1.widgets.example.com' },
        {
          group: 'example.com',
          name: 'sizes',
          schema: 'v1.sizes.example.com',
          storage: { virtual: { reference: { kind: 'CachedResourceEndpointSlice', name: 'sizes' } } },
        },
      ],
    },
  });
  const [widgets, sizes] = exportedResources(exported, new Map([[schema.metadata.name, schema]]));
  expect(widgets).toMatchObject({
    kind: 'Widget',
    scope: 'Namespaced',
    isMissing: false,
    storage: 'In the workspaces of consumers',
    versions: [
      { name: 'v1', note: 'stored' },
      { name: 'v1beta1', note: 'not served, deprecated' },
    ],
  });
  expect(sizes).toMatchObject({ isMissing: true, storage: 'Virtual, from CachedResourceEndpointSlice sizes' });
  expect(exportedResources(exported, undefined).map(({ isMissing }) => isMissing)).toEqual([false, false]);
});

test('slices of an export: those of its workspace and those that name it by one of its paths', () => {
  const slice = (name: string, path?: string): EndpointSlice => ({
    metadata: { name: `${name}-${path ?? ''}` },
    spec: { export: { name, ...(path === undefined ? {} : { path }) } },
  });
  const own = [slice('widgets'), slice('widgets', 'root:team'), slice('widgets', '1abc')];
  const all = [...own, slice('widgets', 'root:other'), slice('gadgets')];
  expect(slicesOf(all, { name: 'widgets', paths: new Set(['root:team', '1abc']) })).toEqual(own);
});

test('what a consumer has decided about the claims', () => {
  expect(claimState([])).toMatchObject({ text: 'None' });
  const claim = { resource: 'secrets', verbs: ['get'] };
  expect(claimState([{ ...claim, state: 'Accepted' }])).toMatchObject({ tone: 'good', text: 'Accepted' });
  expect(
    claimState([
      { ...claim, state: 'Accepted' },
      { ...claim, state: 'Rejected' },
    ]),
  ).toMatchObject({
    tone: 'warn',
    text: '1 of 2 accepted',
    detail: 'Accepted: Read secrets\nRejected: Read secrets',
  });
});

test('scopes: objects of all shards, and when an object may change its provider', () => {
  const spec = { export: { name: 'widgets' } };
  expect(scopeObjects({ metadata: { name: 'a' }, spec })).toBe(0);
  const shards = [{ name: 'a', objects: 2 }, { name: 'b' }, { name: 'c', objects: 3 }];
  expect(scopeObjects({ metadata: { name: 'a' }, spec, status: { shards } })).toBe(5);
  expect([transferText('WhenFinalizersGone'), transferText('Soon'), transferText()]).toEqual([
    'When finalizers are gone',
    'Soon',
    '',
  ]);
});

test.each([
  [{}, { tone: 'info', text: 'Preparing' }],
  [
    { phase: 'Ready', resourceCounts: { cache: 2, local: 2 } },
    { tone: 'good', text: 'Up to date' },
  ],
  [{ resourceCounts: { cache: 2, local: 5 } }, { text: '3 not cached yet' }],
  [{ resourceCounts: { cache: 5, local: 4 } }, { text: '1 to be removed' }],
  [{ conditions: [condition('ReplicationStarted', 'False', 'no cache')] }, { tone: 'bad', detail: 'no cache' }],
])('freshness of a cached resource %j', (status, wanted) => {
  const cached: CachedResource = { metadata: { name: 'sizes' }, spec: { version: 'v1', resource: 'sizes' }, status };
  expect(freshnessOf(cached)).toMatchObject(wanted);
});
