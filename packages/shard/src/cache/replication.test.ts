import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseJson, type KubeObject } from '@multiplane/apimachinery';
import {
  clusterRoles,
  logicalClusters,
  ReplicatedWorld,
  policies,
  type Place,
} from './test-support/replicated-world.ts';

const policy: Place = { kind: policies, cluster: 'a', name: 'p' };
const role: Place = { kind: clusterRoles, cluster: 'a', name: 'binder' };
const cluster: Place = { kind: logicalClusters, cluster: 'a', name: 'cluster' };
const policyKey = '/cache/admissionregistration.k8s.io/validatingadmissionpolicies/customresources/east/a/p';
const marked = { annotations: { 'internal.kcp.io/replicate': 'apis.kcp.io' } };

describe('replication', () => {
  let world: ReplicatedWorld;
  beforeEach(() => {
    world = new ReplicatedWorld(['east', 'west']);
  });
  afterEach(() => world.killAll());
  const keys = async (): Promise<string[]> => [...(await world.replicas()).keys()];
  const replica = async (key: string): Promise<KubeObject> =>
    parseJson((await world.replicas()).get(key) ?? 'null') as unknown as KubeObject;

  test('an object, its changes and its end reach the cache, with where it comes from', async () => {
    await world.start('east', 'p');
    await world.put('east', policy, { labels: { x: 'y' }, generation: 3 }, 'one');
    await world.rest();
    const first = await replica(policyKey);
    expect(first).toMatchObject({
      kind: 'ValidatingAdmissionPolicy',
      metadata: {
        labels: { x: 'y' },
        generation: 3,
        uid: '00000000-0000-4000-8000-000000000000',
        annotations: {
          'kcp.io/cluster': 'a',
          'kcp.io/shard': 'east',
          'cache.kcp.io/original-resource-UID': '00000000-0000-4000-8000-000000000000',
        },
      },
      spec: { content: 'one' },
    });
    expect(first.metadata.managedFields).toBeUndefined();
    await world.put('east', policy, {}, 'two');
    await world.rest();
    const second = await replica(policyKey);
    const version = (object: KubeObject): number =>
      Number(object.metadata.annotations?.['cache.kcp.io/original-resource-version']);
    expect(second['spec']).toEqual({ content: 'two' });
    expect(version(second)).toBeGreaterThan(version(first));
    await world.remove('east', policy);
    await world.rest();
    expect(await keys()).toEqual([]);
  });

  test('only marked roles, nothing of system clusters, and what is being deleted as long as somebody holds it', async () => {
    await world.start('east', 'p');
    const holding = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] };
    await world.put('east', cluster, marked, 1);
    await world.put('east', role, {}, 1);
    await world.put('east', { ...role, name: 'marked' }, marked, 1);
    await world.put('east', { ...policy, cluster: 'system:admin' }, {}, 1);
    await world.put('east', { ...policy, name: 'held' }, holding, 1);
    await world.put('east', { ...policy, name: 'gone' }, { ...holding, finalizers: [] }, 1);
    await world.rest();
    expect(await keys()).toEqual([
      '/cache/admissionregistration.k8s.io/validatingadmissionpolicies/customresources/east/a/held',
      '/cache/core.kcp.io/logicalclusters/customresources/east/a/cluster',
      '/cache/rbac.authorization.k8s.io/clusterroles/customresources/east/a/marked',
    ]);
    await world.put('east', cluster, {}, 1);
    await world.put('east', { ...role, name: 'marked' }, {}, 1);
    await world.put('east', { ...policy, name: 'held' }, { ...holding, finalizers: [] }, 1);
    await world.rest();
    expect(await keys()).toEqual([]);
  });

  test('roles come and go with what their logical cluster shares', async () => {
    await world.start('east', 'p');
    await world.put('east', role, marked, 1);
    await world.put('east', cluster, {}, 1);
    await world.rest();
    expect(await keys()).toEqual([]);
    await world.put('east', cluster, marked, 1);
    await world.rest();
    expect((await keys()).length).toBe(2);
    await world.remove('east', cluster);
    await world.rest();
    expect(await keys()).toEqual([]);
  });

  test('nothing is written when nothing changed, not even by a new process', async () => {
    await world.start('east', 'p');
    await world.put('east', policy, {}, 1);
    await world.rest();
    const { writes } = world.shared;
    await world.start('east', 'p');
    await world.start('east', 'q');
    await world.rest();
    expect(world.shared.writes).toBe(writes);
  });

  test('what happened while nobody published is caught up; what other shards have stays', async () => {
    await world.start('west', 'p');
    await world.put('west', policy, {}, 'of the west');
    await world.start('east', 'p');
    await world.put('east', policy, {}, 1);
    await world.put('east', { ...policy, name: 'changes' }, {}, 1);
    await world.rest();
    world.kill('east', 'p');
    await world.remove('east', policy);
    await world.put('east', { ...policy, name: 'changes' }, {}, 2);
    await world.put('east', { ...policy, name: 'new' }, {}, 1);
    await world.rest();
    await world.start('east', 'p');
    await world.rest();
    expect(await world.replicas()).toEqual(await world.union());
    expect((await keys()).filter((key) => key.includes('/east/')).length).toBe(2);
  });

  test.each(['refused', 'unanswered', 'late'] as const)('a write that is %s is made good', async (fate) => {
    await world.start('east', 'p', [fate, fate, fate]);
    await world.put('east', policy, {}, 1);
    await world.put('east', { ...policy, name: 'other' }, {}, 1);
    await world.rest();
    await world.put('east', policy, {}, 2);
    await world.rest();
    expect(await world.replicas()).toEqual(await world.union());
    expect((await keys()).length).toBe(2);
  });

  test('a process that is behind its own shard never publishes an older state over a newer one', async () => {
    await world.start('east', 'behind');
    await world.start('east', 'q');
    await world.put('east', policy, {}, 'old');
    await world.put('east', { ...policy, name: 'goes' }, {}, 1);
    await world.rest();
    world.pause('east', 'behind');
    const shown: string[] = [];
    world.shared.onPut = (_key, value) =>
      void shown.push((JSON.parse(value.toString()) as { spec: { content: string } }).spec.content);
    await world.put('east', policy, {}, 'new');
    await world.remove('east', { ...policy, name: 'goes' });
    await world.rest();
    expect(shown).toEqual(['new']);
    world.resumeAll();
    await world.rest();
    expect(shown).toEqual(['new']);
    expect(await world.replicas()).toEqual(await world.union());
  });

  test('a lost store is filled again by all shards', async () => {
    for (const shard of ['east', 'west']) {
      await world.start(shard, 'p');
      await world.put(shard, policy, {}, shard);
    }
    await world.rest();
    world.shared.lose();
    expect(await keys()).toEqual([]);
    await world.rest();
    expect((await keys()).length).toBe(2);
    expect(await world.replicas()).toEqual(await world.union());
  });

  test('what somebody else does to a replica is undone', async () => {
    await world.start('east', 'p');
    await world.put('east', policy, {}, 1);
    await world.rest();
    const stored = await world.shared.get(policyKey);
    await world.shared.update(policyKey, Buffer.from('{}'), stored?.revision ?? 0);
    await world.shared.create(policyKey.replace(/p$/, 'stray'), Buffer.from('{}'));
    await world.rest();
    expect(await world.replicas()).toEqual(await world.union());
  });
});
