import { expect, test } from '@jest/globals';
import { initializing, terminating, workspaceTypeOf, type LogicalCluster } from './lifecycle.ts';

const cluster = (more: Partial<LogicalCluster>): LogicalCluster => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: {},
  ...more,
});

test('an id consists of a logical cluster or path and a type name', () => {
  expect(workspaceTypeOf('root:universal')).toEqual({ cluster: 'root', name: 'universal' });
  expect(workspaceTypeOf('root:org:mine')).toEqual({ cluster: 'root:org', name: 'mine' });
  expect(workspaceTypeOf('system:apibindings')).toEqual({ cluster: 'system', name: 'apibindings' });
  for (const id of ['nocolon', ':x', 'x:', 'a?b=c:x', 'a b:x', '..:x', 'a%2fb:x'])
    expect(workspaceTypeOf(id)).toBeUndefined();
});

test('isWaitingFor depends on the phase and the list', () => {
  const begins = cluster({ status: { phase: 'Initializing', initializers: ['a:b'] } });
  expect([initializing.isWaitingFor(begins, 'a:b'), initializing.isWaitingFor(begins, 'a:c')]).toEqual([true, false]);
  expect(initializing.isWaitingFor(cluster({ status: { phase: 'Ready', initializers: ['a:b'] } }), 'a:b')).toBe(false);
  const ends = cluster({ metadata: { deletionTimestamp: 'now' }, status: { terminators: ['a:b'] } });
  expect([terminating.isWaitingFor(ends, 'a:b'), terminating.isWaitingFor({ ...ends, metadata: {} }, 'a:b')]).toEqual([
    true,
    false,
  ]);
});

test('labels equal those of kcp', () => {
  // Hexadecimal SHA-224, truncated in the key to 63 characters including the prefix.
  const selector = initializing.labelSelector('root:universal');
  const [, key, value] = /^tenancy\.kcp\.io\/phase=Initializing,initializer\.internal\.kcp\.io\/(\w+)=(\w+)$/.exec(
    selector,
  )!;
  expect([key?.length, value?.length, value?.startsWith(key!)]).toEqual([35, 56, true]);
  expect(terminating.labelSelector('a:b')).toContain('tenancy.kcp.io/phase in (Terminating,Deleting)');
});
