import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { LogicalCluster, WorkspaceType } from '@multiplane/controllers';
import { lifecycleRules } from './lifecycle-rules.ts';

const here = 'here' as LogicalClusterName;
const reads = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const removes = { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] };
const mine: WorkspaceType = {
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 'mine' },
  spec: { initializerPermissions: [reads], terminatorPermissions: [removes] },
};
const member = (...groups: string[]): UserInfo => ({ name: 'ann', uid: '', groups, extra: {} });

/** The rules of a member of the groups in a logical cluster of this state. */
function rulesIn(state: Partial<LogicalCluster>, ...groups: string[]): unknown {
  const rules = lifecycleRules({
    types: { byPathAndName: (path, name) => (path === 'abc' && name === 'mine' ? mine : undefined) },
    logicalCluster: () => ({
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: {},
      ...state,
    }),
  });
  return rules(member(...groups), here);
}

const initializing = { status: { phase: 'Initializing' as const, initializers: ['abc:mine'] } };
const deleted = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { terminators: ['abc:mine'] } };

describe('rules of a workspace type controller', () => {
  test('are those of the type while the workspace waits for it', () => {
    expect(rulesIn(initializing, 'system:kcp:initializer:abc:mine', 'team')).toEqual([reads]);
    expect(rulesIn(deleted, 'system:kcp:terminator:abc:mine')).toEqual([removes]);
  });

  test('are undefined once it does not wait any more', () => {
    expect(rulesIn({ status: { phase: 'Ready' } }, 'system:kcp:initializer:abc:mine')).toBeUndefined();
    expect(rulesIn({ status: { terminators: ['abc:mine'] } }, 'system:kcp:terminator:abc:mine')).toBeUndefined();
  });

  test('are undefined for another type and for the other lifecycle stage', () => {
    expect(rulesIn(initializing, 'system:kcp:initializer:abc:other')).toBeUndefined();
    expect(rulesIn(initializing, 'system:kcp:terminator:abc:mine')).toBeUndefined();
    expect(rulesIn(initializing, 'initializer:abc:mine', 'system:authenticated')).toBeUndefined();
  });

  test('are empty when the type is deleted', () => {
    const state = { status: { phase: 'Initializing' as const, initializers: ['abc:gone'] } };
    expect(rulesIn(state, 'system:kcp:initializer:abc:gone')).toEqual([]);
  });
});
