import { describe, expect, test } from '@jest/globals';
import type { LogicalCluster, Workspace } from './kinds.ts';
import { requeueDelay, deletionStatus, scheduledStatus, unscheduledStatus } from './workspace-status.ts';

const created = new Date('2026-01-01T00:00:00Z');
const after = (seconds: number): Date => new Date(created.getTime() + seconds * 1000);
const workspace = (status: Workspace['status'] = {}): Workspace => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'w', creationTimestamp: created.toISOString() },
  spec: { cluster: 'abc' },
  status,
});
const cluster = (status: NonNullable<LogicalCluster['status']>): LogicalCluster => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster' },
  status,
});
/** Phase and conditions as `<type>=<status>/<reason>`. */
const summaryOf = (status: NonNullable<Workspace['status']>): unknown[] => [
  status.phase,
  ...(status.conditions ?? []).map(({ type, status: value, reason }) =>
    reason === undefined ? `${type}=${value}` : `${type}=${value}/${reason}`,
  ),
];
const scheduled = 'WorkspaceScheduled=True';

describe('a workspace', () => {
  test.each<[string, Workspace['status'], LogicalCluster['status'] | undefined, number, unknown[]]>([
    ['is Initializing while its logical cluster is new', { phase: 'Scheduling' }, {}, 1, ['Initializing', scheduled]],
    [
      'waits for the initializers that are left',
      { phase: 'Initializing' },
      { phase: 'Initializing', initializers: ['root:x', 'system:apibindings'] },
      1,
      ['Initializing', 'WorkspaceInitialized=False/InitializerExists', scheduled],
    ],
    [
      'is not ready before its logical cluster says so',
      { phase: 'Initializing' },
      { phase: 'Initializing' },
      1,
      ['Initializing', scheduled],
    ],
    [
      'is ready with it',
      { phase: 'Initializing' },
      { phase: 'Ready' },
      1,
      ['Ready', 'WorkspaceInitialized=True', scheduled],
    ],
    ['stays Ready whatever happens to its logical cluster', { phase: 'Ready' }, undefined, 1, ['Ready', scheduled]],
    [
      'stays Initializing while a new logical cluster is not listed yet',
      { phase: 'Scheduling' },
      undefined,
      59,
      ['Initializing', scheduled],
    ],
    [
      'misses one that is out of sight for long',
      { phase: 'Initializing' },
      undefined,
      61,
      ['Unavailable', 'WorkspaceInitialized=False/WorkspaceDisappeared', scheduled],
    ],
    [
      'is ready when that is back',
      { phase: 'Unavailable' },
      { phase: 'Ready' },
      99,
      ['Ready', 'WorkspaceInitialized=True', scheduled],
    ],
  ])('%s', (_what, status, of, seconds, expected) => {
    const logicalCluster = of === undefined ? undefined : cluster(of);
    expect(summaryOf(scheduledStatus(workspace(status), logicalCluster, after(seconds)))).toEqual(expected);
  });

  test('shows the remaining initializers', () => {
    const waiting = scheduledStatus(workspace(), cluster({ phase: 'Initializing', initializers: ['a'] }), after(1));
    expect(waiting.initializers).toEqual(['a']);
    const ready = scheduledStatus(workspace(waiting), cluster({ phase: 'Ready', initializers: [] }), after(2));
    expect('initializers' in ready).toBe(false);
  });

  test('that cannot be scheduled is Unavailable with a reason', () => {
    const failure = { reason: 'Unschedulable', message: 'No available shards to schedule the workspace' } as const;
    expect(unscheduledStatus({ phase: 'Scheduling' }, failure, after(1))).toEqual({
      phase: 'Unavailable',
      conditions: [
        {
          type: 'WorkspaceScheduled',
          status: 'False',
          severity: 'Error',
          ...failure,
          lastTransitionTime: '2026-01-01T00:00:01Z',
        },
      ],
    });
  });

  test('that is being deleted waits for terminators, then for content', () => {
    const remaining = {
      type: 'WorkspaceContentDeleted',
      status: 'False' as const,
      severity: 'Info' as const,
      reason: 'SomeResourcesRemain',
      message: 'x',
    };
    const ending = deletionStatus({ phase: 'Ready' }, cluster({ terminators: ['root:x'] }), after(1));
    expect([ending.phase, ending.terminators]).toEqual(['Terminating', ['root:x']]);
    expect(summaryOf(deletionStatus({ phase: 'Terminating' }, cluster({ conditions: [remaining] }), after(2)))).toEqual(
      ['Deleting', 'WorkspaceContentDeleted=False/SomeResourcesRemain'],
    );
  });
});

test('the polling delay grows with the duration', () => {
  expect([0, 1_000, 10_000, 1_000_000].map((age) => requeueDelay(age, 30_000))).toEqual([100, 250, 2_500, 30_000]);
});
