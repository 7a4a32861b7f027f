import { expect, test } from '@jest/globals';
import { homeClusterName } from '@multiplane/apimachinery';
import type { WorkspaceEntry } from './shard-entries.ts';
import { WorkspaceIndex } from './workspace-index.ts';

const address = (host: string) => ({
  baseUrl: new URL(`https://${host}:6443`),
  virtualWorkspaceUrl: new URL(`https://${host}:7443`),
  externalUrl: new URL(`https://front:443`),
});
const workspace = (parent: string, name: string, rest: Partial<WorkspaceEntry> = {}): WorkspaceEntry => ({
  parent,
  name,
  cluster: undefined,
  phase: 'Ready',
  mountUrl: undefined,
  ...rest,
});

/** root and root:org:team on shard `a`, root:org on `b`. */
function twoShards(): WorkspaceIndex {
  const index = new WorkspaceIndex();
  index.setShard('a', address('a'));
  index.setShard('b', address('b'));
  index.putCluster('a', 'root', 'root:root');
  index.putCluster('b', 'org1', 'root:organization');
  index.putCluster('a', 'team1', 'root:universal');
  index.putWorkspace('a', workspace('root', 'org', { cluster: 'org1' }));
  index.putWorkspace('b', workspace('org1', 'team', { cluster: 'team1' }));
  return index;
}
const found = (index: WorkspaceIndex, path: string): string => {
  const route = index.lookup(path);
  if (route === undefined) return 'nothing';
  if (route.kind === 'cluster') return `${route.shard.name} ${route.cluster}`;
  return route.kind === 'mount' ? `${route.url} [${route.rest.join(' ')}]` : route.kind;
};

test('a path is resolved across shards', () => {
  const index = twoShards();
  expect(found(index, 'root')).toBe('a root');
  expect(found(index, 'root:org')).toBe('b org1');
  expect(found(index, 'root:org:team')).toBe('a team1');
  expect(found(index, 'org1:team')).toBe('a team1');
  expect(index.lookup('root:org')).toMatchObject({ type: 'root:organization' });
});

test('a path starts at the name of a logical cluster', () => {
  const index = twoShards();
  for (const path of ['org', 'team', 'org:team', 'root:team', 'root:org:team:x', 'system:admin', '']) {
    expect(found(index, path)).toBe('nothing');
  }
});

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is an ordinary name', (name) => {
  const index = twoShards();
  expect(found(index, name)).toBe('nothing');
  expect(found(index, `root:${name}`)).toBe('nothing');
});

test('home workspaces', () => {
  const index = twoShards();
  index.putCluster('b', homeClusterName('alice'), '');
  index.putWorkspace('b', workspace(homeClusterName('alice'), 'mine', { cluster: 'org1' }));
  expect(found(index, 'user:alice')).toBe(`b ${homeClusterName('alice')}`);
  expect(found(index, 'user:alice:mine:team')).toBe('a team1');
  expect(found(index, 'user')).toBe('nothing');
});

test('a Workspace in phase Scheduling is not routable', () => {
  const index = twoShards();
  index.putCluster('b', 'new1', '');
  index.putWorkspace('a', workspace('root', 'new', { cluster: 'new1', phase: 'Scheduling' }));
  expect(found(index, 'root:new')).toBe('nothing');
  index.putWorkspace('a', workspace('root', 'new', { cluster: 'new1', phase: 'Initializing' }));
  expect(found(index, 'root:new')).toBe('b new1');
});

test('paths through an unavailable Workspace are unavailable until it recovers', () => {
  const index = twoShards();
  index.putWorkspace('a', workspace('root', 'org', { cluster: 'org1', phase: 'Unavailable' }));
  expect(found(index, 'root:org')).toBe('unavailable');
  expect(found(index, 'root:org:team')).toBe('unavailable');
  expect(found(index, 'root:org:other')).toBe('nothing');
  expect(found(index, 'org1')).toBe('b org1');
  index.putWorkspace('a', workspace('root', 'org', { cluster: 'org1' }));
  expect(found(index, 'root:org')).toBe('b org1');
});

test('a mount keeps the rest of the path', () => {
  const index = twoShards();
  const mount = { mountUrl: 'https://mounted/clusters/x' };
  index.putWorkspace('a', workspace('root', 'mount', mount));
  expect(found(index, 'root:mount')).toBe('https://mounted/clusters/x []');
  expect(found(index, 'root:mount:child:grandchild')).toBe('https://mounted/clusters/x [child grandchild]');
  index.putWorkspace('a', workspace('root', 'mount', { ...mount, phase: 'Unavailable' }));
  expect(found(index, 'root:mount')).toBe('unavailable');
  index.putWorkspace('a', workspace('root', 'mount', { mountUrl: '' }));
  expect(found(index, 'root:mount')).toBe('nothing');
});

test('a deleted LogicalCluster is unroutable although its Workspace exists', () => {
  const index = twoShards();
  index.removeCluster('b', 'org1');
  expect(found(index, 'root:org')).toBe('nothing');
  expect(found(index, 'root:org:team')).toBe('nothing');
  expect(found(index, 'team1')).toBe('a team1');
  index.removeWorkspace('a', 'root', 'org');
  index.putCluster('b', 'org1', '');
  expect(found(index, 'root:org')).toBe('nothing');
  expect(found(index, 'org1')).toBe('b org1');
});

test('a cluster on two shards belongs to the one that reported it last, and to the other after a removal', () => {
  const index = twoShards();
  index.putCluster('a', 'org1', '');
  index.putWorkspace('a', workspace('org1', 'team', { cluster: 'team1' }));
  expect(found(index, 'root:org')).toBe('a org1');
  expect(found(index, 'root:org:team')).toBe('a team1');
  index.putCluster('b', 'org1', '');
  expect(found(index, 'root:org')).toBe('b org1');
  index.removeCluster('a', 'org1');
  expect(found(index, 'root:org')).toBe('b org1');
  index.putCluster('a', 'org1', '');
  index.removeCluster('a', 'org1');
  expect(found(index, 'root:org')).toBe('b org1');
});

test('the URLs of all shards belong to this control plane', () => {
  const index = twoShards();
  expect(['https://a:6443', 'https://b:7443', 'https://front'].every((origin) => index.isOwnOrigin(origin))).toBe(true);
  expect(['https://a', 'http://a:6443', 'https://c:6443'].some((origin) => index.isOwnOrigin(origin))).toBe(false);
});

test('a shard with a changed address keeps its objects, a removed one does not', () => {
  const index = twoShards();
  index.setShard('b', address('moved'));
  expect(index.lookup('root:org')).toMatchObject({ shard: { baseUrl: new URL('https://moved:6443') } });
  index.putCluster('a', 'both', '');
  index.putCluster('b', 'both', '');
  index.removeShard('b');
  expect(found(index, 'root:org')).toBe('nothing');
  expect(found(index, 'both')).toBe('a both');
  expect(index.clusterCount('b')).toBe(0);
  index.putCluster('b', 'late', '');
  expect(found(index, 'late')).toBe('nothing');
});

test('a relist replaces the state atomically', () => {
  const index = twoShards();
  index.replaceClusters('b');
  index.replaceWorkspaces('a');
  index.putCluster('b', 'other', '');
  index.putWorkspace('a', workspace('root', 'other', { cluster: 'other' }));
  expect(found(index, 'root:org')).toBe('b org1');
  expect(found(index, 'root:other')).toBe('nothing');
  index.clustersReplaced('b');
  index.workspacesReplaced('a');
  expect(found(index, 'root:org')).toBe('nothing');
  expect(found(index, 'org1')).toBe('nothing');
  expect(found(index, 'root:other')).toBe('b other');
});

test('objects deleted during a relist are not in the new state', () => {
  const index = twoShards();
  index.replaceClusters('b');
  index.replaceWorkspaces('b');
  index.putCluster('b', 'org1', '');
  index.putWorkspace('b', workspace('org1', 'team', { cluster: 'team1' }));
  index.removeCluster('b', 'org1');
  index.removeWorkspace('b', 'org1', 'team');
  index.clustersReplaced('b');
  index.workspacesReplaced('b');
  expect(found(index, 'org1')).toBe('nothing');
});

test('a shard is unsynced until both lists are complete', () => {
  const index = twoShards();
  expect(index.unsyncedShards).toEqual(['a', 'b']);
  for (const shard of ['a', 'b']) {
    index.replaceClusters(shard);
    index.clustersReplaced(shard);
  }
  expect(index.unsyncedShards).toEqual(['a', 'b']);
  index.workspacesReplaced('a');
  expect(index.unsyncedShards).toEqual(['b']);
});
