import { describe, expect, test } from '@jest/globals';
import { fieldErrorText } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import { virtualStorageErrors } from './virtual-storage-rules.ts';

const exportOf = (storage: object): APIExport => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'cloud' },
  spec: { resources: [{ name: 'flavors', group: 'example.io', schema: 'v1.flavors.example.io', storage }] },
});
const virtual = (reference: object = {}): APIExport =>
  exportOf({
    virtual: {
      reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors', ...reference },
      identityHash: 'hash',
    },
  });
const stored = exportOf({ crd: {} });
const errors = (object: APIExport, old?: APIExport, isBound = true): string[] =>
  virtualStorageErrors(object, old, () => isBound).map(fieldErrorText);

describe('storage.virtual of an APIExport', () => {
  test('may refer to a CachedResourceEndpointSlice and to kinds of tenants', () => {
    expect(errors(virtual())).toEqual([]);
    expect(errors(virtual({ apiGroup: 'example.io', kind: 'FlavorSlice' }))).toEqual([]);
    expect(errors(virtual({ apiGroup: 'notk8s.io', kind: 'FlavorSlice' }))).toEqual([]);
  });

  test.each([
    ['', 'ConfigMap'],
    ['apps.k8s.io', 'Slice'],
    ['x.kubernetes.io', 'Slice'],
    ['apis.kcp.io', 'APIExportEndpointSlice'],
  ])('may not refer to kinds of the system: group "%s"', (apiGroup, kind) => {
    expect(errors(virtual({ apiGroup, kind }))).toEqual([
      expect.stringContaining('the kinds of this group are reserved for the system'),
    ]);
  });

  test('may not refer to other kinds of cache.kcp.io', () => {
    expect(errors(virtual({ kind: 'CachedResource' }))).toEqual([
      expect.stringContaining(
        'must be CachedResourceEndpointSlice or ClusterCachedResourceEndpointSlice in group cache.kcp.io',
      ),
    ]);
    expect(errors(virtual({ kind: 'ClusterCachedResourceEndpointSlice' }))).toEqual([]);
  });

  test('needs a kind and a name', () => {
    expect(errors(virtual({ apiGroup: 'example.io', kind: '', name: '' }))).toEqual([
      'spec.resources[0].storage.virtual.reference.kind: Required value',
      'spec.resources[0].storage.virtual.reference.name: Required value',
    ]);
  });
});

describe('the storage of a resource', () => {
  test.each([
    ['crd to virtual', stored, virtual()],
    ['virtual to crd', virtual(), stored],
  ])('is not switched from %s while the resource is bound', (direction, before, after) => {
    expect(errors(after, before)).toEqual([
      `spec.resources[0].storage: Forbidden: must not be switched from ${direction} while the resource is bound by an APIBinding`,
    ]);
    expect(errors(after, before, false)).toEqual([]);
  });

  test('may be changed otherwise, also while the resource is bound', () => {
    expect(errors(virtual({ name: 'others' }), virtual())).toEqual([]);
    expect(errors(stored, exportOf({}))).toEqual([]);
  });
});
