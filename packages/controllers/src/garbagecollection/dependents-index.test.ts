import { expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { DependentsIndex } from './dependents-index.ts';

const tenant = 'tenant' as LogicalClusterName;
const other = 'other' as LogicalClusterName;

function record(uid: string, owners: readonly string[] = [], cluster = tenant): ObjectMetadataRecord {
  const metadata = {
    name: uid,
    uid,
    ...(owners.length === 0
      ? {}
      : { ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: owner })) }),
  } as KubeObject['metadata'];
  return {
    cluster,
    namespace: 'default',
    name: uid,
    revision: 1,
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    kind: 'ConfigMap',
    uid,
    metadata,
    isIndependent: owners.length === 0,
  };
}

test('has records of a logical cluster while an object there has an owner or waits for its dependents', () => {
  const index = new DependentsIndex();
  index.set(record('plain'), undefined);
  expect(index.hasAnyOf(tenant)).toBe(false);

  index.set(record('a', ['owner']), undefined);
  index.set(record('b', ['owner']), undefined);
  // An update adds an owner.
  index.set(record('b', ['owner', 'plain']), record('b', ['owner']));
  expect(index.hasAnyOf(tenant)).toBe(true);
  expect(index.hasAnyOf(other)).toBe(false);
  expect(index.dependentsOf(tenant, 'owner').map(({ name }) => name)).toEqual(['a', 'b']);

  index.delete(record('a', ['owner']));
  expect(index.hasAnyOf(tenant)).toBe(true);
  index.set(record('b'), record('b', ['owner', 'plain']));
  expect(index.hasAnyOf(tenant)).toBe(false);
  index.delete(record('b'));

  index.remember(record('waits'));
  expect(index.hasAnyOf(tenant)).toBe(true);
  expect(index.waiting(tenant, 'waits')?.name).toBe('waits');
  index.delete(record('waits'));
  expect(index.hasAnyOf(tenant)).toBe(false);
  expect(index.waiting(tenant, 'waits')).toBeUndefined();

  index.remember(record('stops waiting'));
  index.forget(record('stops waiting'));
  expect(index.hasAnyOf(tenant)).toBe(false);
});
