import { expect, test } from '@jest/globals';
import { initializing, terminating, typeOf, type LogicalCluster } from './lifecycle.ts';

const cluster = (more: Partial<LogicalCluster>): LogicalCluster => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: {},
  ...more,
});

test('an id names a type by its logical cluster or path, and nothing else', () => {
  expect(typeOf('root:universal')).toEqual({ cluster: 'root', name: 'universal' });
  expect(typeOf('root:org:mine')).toEqual({ cluster: 'root:org', name: 'mine' });
  expect(typeOf('system:apibindings')).toEqual({ cluster: 'system', name: 'apibindings' });
  for (const id of ['nocolon', ':x', 'x:', 'a?b=c:x', 'a b:x', '..:x', 'a%2fb:x']) expect(typeOf(id)).toBeUndefined();
});

test('a logical cluster waits for an id while it is at that end of its life', () => {
  const begins = cluster({ status: { phase: 'Initializing', initializers: ['a:b'] } });
  expect([initializing.holds(begins, 'a:b'), initializing.holds(begins, 'a:c')]).toEqual([true, false]);
  expect(initializing.holds(cluster({ status: { phase: 'Ready', initializers: ['a:b'] } }), 'a:b')).toBe(false);
  const ends = cluster({ metadata: { deletionTimestamp: 'now' }, status: { terminators: ['a:b'] } });
  expect([terminating.holds(ends, 'a:b'), terminating.holds({ ...ends, metadata: {} }, 'a:b')]).toEqual([true, false]);
});

test('labels are those that controllers of kcp look for', () => {
  // Hexadecimal SHA-224; the key has as much of it as fits into 63 characters with the prefix (C1.2).
  const selector = initializing.labelSelector('root:universal');
  const [, key, value] = /^tenancy\.kcp\.io\/phase=Initializing,initializer\.internal\.kcp\.io\/(\w+)=(\w+)$/.exec(
    selector,
  )!;
  expect([key?.length, value?.length, value?.startsWith(key!)]).toEqual([35, 56, true]);
  expect(terminating.labelSelector('a:b')).toContain('tenancy.kcp.io/phase in (Terminating,Deleting)');
});
