import { expect, test } from '@jest/globals';
import type { APIResourceSchema, ExportedResource } from './api-sharing.ts';
import { resourceKindAnnotation, resourceScopeAnnotation, type CachedResource } from './cached-resources.ts';
import { virtualStorageProblem } from './virtual-storage.ts';

const exported: ExportedResource = {
  name: 'flavors',
  group: 'example.io',
  schema: 'v1.flavors.example.io',
  storage: {
    virtual: {
      reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' },
      identityHash: 'hash',
    },
  },
};
const cached: CachedResource = {
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResource',
  metadata: {
    name: 'published',
    annotations: { [resourceKindAnnotation]: 'Flavor', [resourceScopeAnnotation]: 'Cluster' },
  },
  spec: { group: 'example.io', version: 'v1', resource: 'flavors' },
  status: { identityHash: 'hash' },
};
const served = { name: 'v1', served: true, storage: true, schema: {} };
const schema = (spec: object = {}): APIResourceSchema =>
  ({
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v1.flavors.example.io' },
    spec: {
      group: 'example.io',
      names: { plural: 'flavors', kind: 'Flavor' },
      scope: 'Cluster',
      versions: [served],
      ...spec,
    },
  }) as unknown as APIResourceSchema;

test('a schema of the cached resource fits', () => {
  expect(virtualStorageProblem(exported, schema(), cached)).toBeUndefined();
  const more = schema({ versions: [{ ...served, name: 'v2' }, served] });
  expect(virtualStorageProblem(exported, more, cached)).toBeUndefined();
});

test('a cached resource whose kind and identity are not known yet fits every kind', () => {
  const { metadata, status: _status, ...rest } = cached;
  const unknown = { ...rest, metadata: { name: metadata.name ?? '' } } as CachedResource;
  expect(
    virtualStorageProblem(exported, schema({ names: { plural: 'flavors', kind: 'Other' } }), unknown),
  ).toBeUndefined();
});

test.each([
  ['no schema', undefined, 'not found'],
  [
    'another group',
    schema({ group: 'example.com' }),
    'is of flavors.example.com, but CachedResource published caches flavors.example.io',
  ],
  [
    'another plural',
    schema({ names: { plural: 'tastes', kind: 'Flavor' } }),
    'is of tastes.example.io, but CachedResource published caches flavors.example.io',
  ],
  [
    'a missing version',
    schema({ versions: [{ ...served, name: 'v2' }] }),
    'does not serve version v1, which CachedResource published caches',
  ],
  [
    'a version that is not served',
    schema({ versions: [{ ...served, served: false }] }),
    'does not serve version v1, which CachedResource published caches',
  ],
  [
    'another kind',
    schema({ names: { plural: 'flavors', kind: 'Taste' } }),
    'is of kind Taste, but flavors.example.io is of kind Flavor',
  ],
  ['another scope', schema({ scope: 'Namespaced' }), 'has scope Namespaced, but flavors.example.io has scope Cluster'],
])('a schema with %s does not fit', (_what, given, problem) => {
  expect(virtualStorageProblem(exported, given, cached)).toEqual({
    reason: 'APIResourceSchemaInvalid',
    message: `APIResourceSchema v1.flavors.example.io ${problem}`,
  });
});

test('the identity must be that of the cached resource', () => {
  const other = { ...cached, status: { identityHash: 'other' } } as CachedResource;
  expect(virtualStorageProblem(exported, schema(), other)).toEqual({
    reason: 'IdentityMismatch',
    message:
      'identityHash "hash" of resource flavors.example.io must match status.identityHash "other" of CachedResource published',
  });
});
