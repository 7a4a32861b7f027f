import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseJson, type KubeObject } from '@multiplane/apimachinery';
import {
  clusterRoles,
  logicalClusters,
  ReplicationHarness,
  policies,
  type ObjectLocation,
} from './replication-harness.ts';

const policy: ObjectLocation = { kind: policies, cluster: 'a', name: 'p' };
const role: ObjectLocation = { kind: clusterRoles, cluster: 'a', name: 'binder' };
const cluster: ObjectLocation = { kind: logicalClusters, cluster: 'a', name: 'cluster' };
const policyKey = '/cache/admissionregistration.k8s.io/validatingadmissionpolicies/customresources/east/a/p';
const marked = { annotations: { 'internal.kcp.io/replicate': 'apis.kcp.io' } };

describe('replication', () => {
  let harness: ReplicationHarness;
  beforeEach(() => {
    harness = new ReplicationHarness(['east', 'west']);
  });
  afterEach(() => harness.killAll());
  const keys = async (): Promise<string[]> => [...(await harness.cachedObjects()).keys()];
  const cachedObject = async (key: string): Promise<KubeObject> =>
    parseJson((await harness.cachedObjects()).get(key) ?? 'null') as unknown as KubeObject;

  test('creation, updates and deletion of an object reach the cache, with its origin in annotations', async () => {
    await harness.start('east', 'p');
    await harness.put('east', policy, { labels: { x: 'y' }, generation: 3 }, 'one');
    await harness.settle();
    const first = await cachedObject(policyKey);
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
    expect(first.metadata.managedFields).toEqual([{ manager: 'test' }]);
    await harness.put('east', policy, {}, 'two');
    await harness.settle();
    const second = await cachedObject(policyKey);
    const version = (object: KubeObject): number =>
      Number(object.metadata.annotations?.['cache.kcp.io/original-resource-version']);
    expect(second['spec']).toEqual({ content: 'two' });
    expect(version(second)).toBeGreaterThan(version(first));
    await harness.remove('east', policy);
    await harness.settle();
    expect(await keys()).toEqual([]);
  });

  test('replicates only annotated roles, nothing of system clusters, and deleted objects while they have finalizers', async () => {
    await harness.start('east', 'p');
    const holding = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] };
    await harness.put('east', cluster, marked, 1);
    await harness.put('east', role, {}, 1);
    await harness.put('east', { ...role, name: 'marked' }, marked, 1);
    await harness.put('east', { ...policy, cluster: 'system:admin' }, {}, 1);
    await harness.put('east', { ...policy, name: 'held' }, holding, 1);
    await harness.put('east', { ...policy, name: 'gone' }, { ...holding, finalizers: [] }, 1);
    await harness.settle();
    expect(await keys()).toEqual([
      '/cache/admissionregistration.k8s.io/validatingadmissionpolicies/customresources/east/a/held',
      '/cache/core.kcp.io/logicalclusters/customresources/east/a/cluster',
      '/cache/rbac.authorization.k8s.io/clusterroles/customresources/east/a/marked',
    ]);
    await harness.put('east', cluster, {}, 1);
    await harness.put('east', { ...role, name: 'marked' }, {}, 1);
    await harness.put('east', { ...policy, name: 'held' }, { ...holding, finalizers: [] }, 1);
    await harness.settle();
    expect(await keys()).toEqual([]);
  });

  test('replicates roles only while their logical cluster is replicated', async () => {
    await harness.start('east', 'p');
    await harness.put('east', role, marked, 1);
    await harness.put('east', cluster, {}, 1);
    await harness.settle();
    expect(await keys()).toEqual([]);
    await harness.put('east', cluster, marked, 1);
    await harness.settle();
    expect((await keys()).length).toBe(2);
    await harness.remove('east', cluster);
    await harness.settle();
    expect(await keys()).toEqual([]);
  });

  test('does not write unchanged objects, not even after a restart', async () => {
    await harness.start('east', 'p');
    await harness.put('east', policy, {}, 1);
    await harness.settle();
    const { writes } = harness.shared;
    await harness.start('east', 'p');
    await harness.start('east', 'q');
    await harness.settle();
    expect(harness.shared.writes).toBe(writes);
  });

  test('catches up with changes after a restart, without touching the objects of other shards', async () => {
    await harness.start('west', 'p');
    await harness.put('west', policy, {}, 'of the west');
    await harness.start('east', 'p');
    await harness.put('east', policy, {}, 1);
    await harness.put('east', { ...policy, name: 'changes' }, {}, 1);
    await harness.settle();
    harness.kill('east', 'p');
    await harness.remove('east', policy);
    await harness.put('east', { ...policy, name: 'changes' }, {}, 2);
    await harness.put('east', { ...policy, name: 'new' }, {}, 1);
    await harness.settle();
    await harness.start('east', 'p');
    await harness.settle();
    expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
    expect((await keys()).filter((key) => key.includes('/east/')).length).toBe(2);
  });

  test.each(['refused', 'unanswered', 'late'] as const)('recovers from a write that is %s', async (outcome) => {
    await harness.start('east', 'p', [outcome, outcome, outcome]);
    await harness.put('east', policy, {}, 1);
    await harness.put('east', { ...policy, name: 'other' }, {}, 1);
    await harness.settle();
    await harness.put('east', policy, {}, 2);
    await harness.settle();
    expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
    expect((await keys()).length).toBe(2);
  });

  test('a process with a stale cache never replaces a newer state by an older one', async () => {
    await harness.start('east', 'behind');
    await harness.start('east', 'q');
    await harness.put('east', policy, {}, 'old');
    await harness.put('east', { ...policy, name: 'goes' }, {}, 1);
    await harness.settle();
    harness.pause('east', 'behind');
    const shown: string[] = [];
    harness.shared.onPut = (_key, value) =>
      void shown.push((JSON.parse(value.toString()) as { spec: { content: string } }).spec.content);
    await harness.put('east', policy, {}, 'new');
    await harness.remove('east', { ...policy, name: 'goes' });
    await harness.settle();
    expect(shown).toEqual(['new']);
    harness.resumeAll();
    await harness.settle();
    expect(shown).toEqual(['new']);
    expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
  });

  test('all shards refill a lost store', async () => {
    for (const shard of ['east', 'west']) {
      await harness.start(shard, 'p');
      await harness.put(shard, policy, {}, shard);
    }
    await harness.settle();
    harness.shared.lose();
    expect(await keys()).toEqual([]);
    await harness.settle();
    expect((await keys()).length).toBe(2);
    expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
  });

  test('reverts changes of cached objects by other writers', async () => {
    await harness.start('east', 'p');
    await harness.put('east', policy, {}, 1);
    await harness.settle();
    const stored = await harness.shared.get(policyKey);
    await harness.shared.update(policyKey, Buffer.from('{}'), stored?.revision ?? 0);
    await harness.shared.create(policyKey.replace(/p$/, 'stray'), Buffer.from('{}'));
    await harness.settle();
    expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
  });
});
