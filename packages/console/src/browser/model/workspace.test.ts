import { describe, expect, test } from '@jest/globals';
import { ApiError } from '../data/api-error.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import { usageMeter } from './usage.ts';
import { workspaceProgress } from './workspace-progress.ts';
import { parentOf, pathsTo, treeRows, type TreeRow } from './workspace-tree.ts';
import type { Workspace } from './workspace.ts';

const synced = (...names: string[]): LiveSnapshot<Workspace> => ({
  items: names.map((name) => ({ metadata: { name } })),
  columns: [],
  isSynced: true,
  failure: undefined,
});

const text = (row: TreeRow): string =>
  `${'  '.repeat(row.depth)}${row.kind === 'message' ? `(${row.text})` : `${row.name}${row.mayExpand ? (row.isExpanded ? ' -' : ' +') : ''}`}`;

describe('tree', () => {
  const children = new Map([
    ['root', synced('team-10', 'team-9', 'platform')],
    ['root:platform', synced('kafka')],
    ['root:team-9', synced()],
  ]);
  const show = (expanded: readonly string[], filter = ''): string[] =>
    treeRows({ current: 'root', expanded: new Set(expanded), children, filter }).map(text);

  test('has the order of kubectl; what is known to be empty cannot be opened', () => {
    expect(show(['root', 'root:platform', 'root:team-9'])).toEqual([
      'root -',
      '  platform -',
      '    kafka +',
      '  team-10 +',
      '  team-9',
    ]);
  });
  test('a filter keeps what is above a match', () => {
    expect(show(['root', 'root:platform'], 'KAF')).toEqual(['root -', '  platform -', '    kafka +']);
  });
  test('says what is loading, and why nothing can be shown', () => {
    const failed = { ...synced(), isSynced: false, failure: new Error('workspaces is forbidden') };
    const rows = treeRows({
      current: 'root',
      expanded: new Set(['root']),
      children: new Map([['root', failed]]),
      filter: '',
    });
    expect(rows.map(text)).toEqual(['root -', '  (workspaces is forbidden)']);
    expect(show(['root', 'root:team-10'])).toContain('    (Loading…)');
  });
  test('leads to the workspace that is shown through one that may not be listed', () => {
    const denied = { ...synced(), isSynced: false, failure: new ApiError(403, 'Forbidden', 'workspaces is forbidden') };
    const known = new Map([
      ['root', denied],
      ['root:a', synced('b')],
    ]);
    const rows = treeRows({ current: 'root:a', expanded: new Set(['root', 'root:a']), children: known, filter: '' });
    expect(rows.map(text)).toEqual(['root -', '  a -', '    b +', '  (You may not list what is here)']);
  });
  test('a home workspace is a top of its own, beside the root', () => {
    const rows = treeRows({
      current: 'user:alice',
      expanded: new Set(['user:alice']),
      children: new Map(),
      filter: '',
    });
    expect(rows.map(text)).toEqual(['user:alice -', '  (Loading…)', 'root +']);
    expect(parentOf('user:alice')).toBeUndefined();
    expect(pathsTo('user:alice:dev')).toEqual(['user:alice', 'user:alice:dev']);
  });
  test('a path leads through everything above it', () => {
    expect(pathsTo('root:a:b')).toEqual(['root', 'root:a', 'root:a:b']);
  });
});

describe('progress', () => {
  const workspace = (status: Workspace['status'], metadata = {}): Workspace => ({
    metadata: { name: 'a', ...metadata },
    ...(status === undefined ? {} : { status }),
  });
  const steps = (...of: Parameters<typeof workspaceProgress>): string[] =>
    workspaceProgress(...of).map(({ state, title, details }) => [state, title, ...details].join('; '));

  test('a workspace that is ready waits for nothing', () => {
    expect(steps(workspace({ phase: 'Ready' }), undefined)).toEqual([]);
    expect(steps(undefined, undefined)).toEqual([]);
  });
  test('one without a shard says why', () => {
    const conditions = [{ type: 'WorkspaceScheduled', status: 'False', message: 'no shard has room' }];
    expect(steps(workspace({ phase: 'Scheduling', conditions }), undefined)[0]).toBe(
      'current; Find a shard for it; WorkspaceScheduled: no shard has room',
    );
  });
  test('names the initializers that are waited for', () => {
    expect(steps(workspace({ phase: 'Initializing', initializers: ['root:universal'] }), undefined)).toEqual([
      'done; Find a shard for it',
      'current; Initialize it; waits for the initializer root:universal',
      'waiting; Ready to use',
    ]);
  });
  test('a deletion waits for whoever holds the workspace first, then for what is left inside', () => {
    const deleted = (...finalizers: string[]) =>
      workspace(
        {},
        { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['core.kcp.io/logicalcluster', ...finalizers] },
      );
    const inside = { metadata: { name: 'cluster' }, status: { terminators: ['root:db'] } };
    expect(steps(deleted('mine.io/f'), inside)).toEqual([
      'current; Controllers clean up what they own; waits for the finalizer mine.io/f; waits for the terminator root:db',
      'waiting; Delete everything in it',
      'waiting; Remove the workspace',
    ]);
    const conditions = [{ type: 'WorkspaceContentDeleted', status: 'False', message: '3 configmaps remain' }];
    expect(steps(deleted(), { metadata: { name: 'cluster' }, status: { conditions } })).toEqual([
      'done; Controllers clean up what they own',
      'current; Delete everything in it; WorkspaceContentDeleted: 3 configmaps remain',
      'waiting; Remove the workspace',
    ]);
  });
});

test.each([
  ['bytes', 11_870, 4_294_967_296, '11.6 KiB', '4 GiB', 'good'],
  ['objects', 800, 1000, '800', '1,000', 'warn'],
  ['watches', 990, 1000, '990', '1,000', 'bad'],
  ['objects', 5, undefined, '5', 'no limit', 'good'],
])('usage of %s: %d of %d', (name, used, max, usedText, maxText, tone) => {
  const limit = { name, used, annotation: 'a', setBy: 'Default', ...(max === undefined ? {} : { max }) };
  expect(usageMeter(limit)).toMatchObject({ used: usedText, max: maxText, tone });
});
