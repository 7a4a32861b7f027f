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

/** root on shard `a`; root:org on `b`; root:org:team on `a` again. */
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

test('a path leads over the shards of all its workspaces', () => {
  const index = twoShards();
  expect(found(index, 'root')).toBe('a root');
  expect(found(index, 'root:org')).toBe('b org1');
  expect(found(index, 'root:org:team')).toBe('a team1');
  expect(found(index, 'org1:team')).toBe('a team1');
  expect(index.lookup('root:org')).toMatchObject({ type: 'root:organization' });
});

test('a path begins at the name of a logical cluster and nowhere else', () => {
  const index = twoShards();
  for (const path of ['org', 'team', 'org:team', 'root:team', 'root:org:team:x', 'system:admin', '']) {
    expect(found(index, path)).toBe('nothing');
  }
});

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is a name like any other', (name) => {
  const index = twoShards();
  expect(found(index, name)).toBe('nothing');
  expect(found(index, `root:${name}`)).toBe('nothing');
});

test('the home of a user', () => {
  const index = twoShards();
  index.putCluster('b', homeClusterName('alice'), '');
  index.putWorkspace('b', workspace(homeClusterName('alice'), 'mine', { cluster: 'org1' }));
  expect(found(index, 'user:alice')).toBe(`b ${homeClusterName('alice')}`);
  expect(found(index, 'user:alice:mine:team')).toBe('a team1');
  expect(found(index, 'user')).toBe('nothing');
});

test('a Workspace that is being scheduled leads nowhere yet', () => {
  const index = twoShards();
  index.putCluster('b', 'new1', '');
  index.putWorkspace('a', workspace('root', 'new', { cluster: 'new1', phase: 'Scheduling' }));
  expect(found(index, 'root:new')).toBe('nothing');
  index.putWorkspace('a', workspace('root', 'new', { cluster: 'new1', phase: 'Initializing' }));
  expect(found(index, 'root:new')).toBe('b new1');
});

test('nobody passes a Workspace that is out of order, until it is well again', () => {
  const index = twoShards();
  index.putWorkspace('a', workspace('root', 'org', { cluster: 'org1', phase: 'Unavailable' }));
  expect(found(index, 'root:org')).toBe('unavailable');
  expect(found(index, 'root:org:team')).toBe('unavailable');
  expect(found(index, 'root:org:other')).toBe('nothing');
  expect(found(index, 'org1')).toBe('b org1');
  index.putWorkspace('a', workspace('root', 'org', { cluster: 'org1' }));
  expect(found(index, 'root:org')).toBe('b org1');
});

test('a mount takes the rest of the path along', () => {
  const index = twoShards();
  const mount = { mountUrl: 'https://elsewhere/clusters/x' };
  index.putWorkspace('a', workspace('root', 'mount', mount));
  expect(found(index, 'root:mount')).toBe('https://elsewhere/clusters/x []');
  expect(found(index, 'root:mount:child:grandchild')).toBe('https://elsewhere/clusters/x [child grandchild]');
  index.putWorkspace('a', workspace('root', 'mount', { ...mount, phase: 'Unavailable' }));
  expect(found(index, 'root:mount')).toBe('unavailable');
  index.putWorkspace('a', workspace('root', 'mount', { mountUrl: '' }));
  expect(found(index, 'root:mount')).toBe('nothing');
});

test('a deleted LogicalCluster is unroutable although its Workspace is still there', () => {
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

test('a cluster on two shards belongs to the latest, and to the other when that one forgets it', () => {
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

test('the addresses of all shards are this control plane', () => {
  const index = twoShards();
  expect(['https://a:6443', 'https://b:7443', 'https://front'].every((origin) => index.isOwnOrigin(origin))).toBe(true);
  expect(['https://a', 'http://a:6443', 'https://c:6443'].some((origin) => index.isOwnOrigin(origin))).toBe(false);
});

test('a shard that moved keeps what it has, one that is gone takes it along', () => {
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

test('a new state takes the place of the old one in one step', () => {
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

test('what vanishes while a state is told is not in it', () => {
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

test('a shard is unknown until both of its states were told', () => {
  const index = twoShards();
  expect(index.unknownShards).toEqual(['a', 'b']);
  for (const shard of ['a', 'b']) {
    index.replaceClusters(shard);
    index.clustersReplaced(shard);
  }
  expect(index.unknownShards).toEqual(['a', 'b']);
  index.workspacesReplaced('a');
  expect(index.unknownShards).toEqual(['b']);
});
