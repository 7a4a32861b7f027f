import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { statusErrors, type GroupVersionResource, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import type { ObjectClient, ObjectReference } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import { leases, loadAnnotation, shards, type Lease } from './kinds.ts';
import { ShardRegistration } from './shard-registration.ts';

/** The root shard as a registration sees it. */
class RootShard {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  /** All requests fail. */
  away = false;
  #uid = 0;

  readonly client = {
    get: async (resource: GroupVersionResource, reference: ObjectReference) => this.#find(resource, reference),
    create: async (resource: GroupVersionResource, _cluster: string, object: KubeObject) => {
      this.#reach();
      const { namespace = '', name = '' } = object.metadata;
      if (namespace !== '' && !this.objects.has(`namespaces//${namespace}`))
        throw statusErrors.notFound({ group: '', resource: 'namespaces' }, namespace);
      const made = { ...object, metadata: { ...object.metadata, uid: `uid-${++this.#uid}` } };
      this.objects.set(`${resource.resource}/${namespace}/${name}`, made);
      this.writes.push(`create ${resource.resource}/${name}`);
      return made;
    },
    patch: async (
      resource: GroupVersionResource,
      reference: ObjectReference,
      _type: string,
      patch: JsonObject & { metadata: KubeObject['metadata'] },
    ) => {
      const found = this.#find(resource, reference);
      const { labels, annotations } = patch.metadata;
      const patched: KubeObject = {
        ...found,
        metadata: {
          ...found.metadata,
          labels: { ...found.metadata.labels, ...labels },
          annotations: { ...found.metadata.annotations, ...annotations },
        },
        spec: { ...(found['spec'] as JsonObject), ...(patch['spec'] as JsonObject) },
      };
      this.objects.set(`${resource.resource}/${reference.namespace}/${reference.name}`, patched);
      this.writes.push(`patch ${resource.resource}/${reference.name}`);
      return patched;
    },
  } as unknown as ObjectClient;

  shard(name: string): KubeObject | undefined {
    return this.objects.get(`shards//${name}`);
  }
  lease(name: string): KubeObject | undefined {
    return this.objects.get(`leases/kube-system/shard-${name}`);
  }

  renewTime(name: string): string {
    return (this.lease(name) as Lease).spec?.renewTime ?? '';
  }

  #reach(): void {
    if (this.away) throw new Error('connect ECONNREFUSED');
  }

  #find({ group, resource }: GroupVersionResource, { namespace, name }: ObjectReference): KubeObject {
    this.#reach();
    const found = this.objects.get(`${resource}/${namespace}/${name}`);
    if (found === undefined) throw statusErrors.notFound({ group, resource }, name);
    return found;
  }
}

const url = 'https://east';
let clock: FakeClock;
let root: RootShard;
let healthy: boolean;
let registration: ShardRegistration;

beforeEach(() => {
  clock = new FakeClock();
  root = new RootShard();
  healthy = true;
  registration = new ShardRegistration(
    {
      name: 'east',
      spec: () => ({ baseURL: url, externalURL: url, virtualWorkspaceURL: url }),
      identity: 'replica-1',
    },
    {
      client: root.client,
      clock,
      logger: silentLogger,
      check: async () => {
        if (!healthy) throw new Error('the store is away');
      },
      load: () => 12,
    },
  );
});
afterEach(() => registration.stop());

describe('shard registration', () => {
  test('creates the Shard and a Lease owned by it', async () => {
    await registration.start();
    expect(root.shard('east')).toMatchObject({
      metadata: { labels: { name: 'east' } },
      spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
    });
    expect(root.lease('east')).toMatchObject({
      metadata: {
        annotations: { [loadAnnotation]: '12', 'internal.kcp.io/replicate': 'core.kcp.io' },
        ownerReferences: [{ kind: 'Shard', name: 'east', uid: root.shard('east')?.metadata.uid }],
      },
      spec: { holderIdentity: 'replica-1', leaseDurationSeconds: 20 },
    });
    const renewed = root.renewTime('east');
    await clock.advance(5_000);
    expect(root.renewTime('east') > renewed).toBe(true);
  });

  test('keeps the fields of other writers', async () => {
    root.objects.set('shards//east', {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'Shard',
      metadata: { name: 'east', uid: 'old', labels: { region: 'eu' }, annotations: { 'multiplane.io/capacity': '5' } },
      spec: { baseURL: 'https://before', externalURL: url, virtualWorkspaceURL: url },
    });
    await registration.start();
    expect(root.shard('east')).toMatchObject({
      metadata: { labels: { region: 'eu', name: 'east' }, annotations: { 'multiplane.io/capacity': '5' } },
      spec: { baseURL: url },
    });
    root.writes.length = 0;
    await clock.advance(5_000);
    expect(root.writes).toEqual(['patch leases/shard-east']);
  });

  test('retries until the root shard is available', async () => {
    root.away = true;
    await registration.start();
    await clock.advance(60_000);
    expect(root.objects.size).toBe(0);
    root.away = false;
    await clock.advance(5_000);
    expect(root.shard('east')).toBeDefined();
    expect(root.lease('east')).toBeDefined();
  });

  test('renews the Lease only while the shard can store objects', async () => {
    await registration.start();
    root.writes.length = 0;
    healthy = false;
    await clock.advance(20_000);
    expect(root.writes).toEqual([]);
    healthy = true;
    await clock.advance(5_000);
    expect(root.writes).toEqual([`patch ${leases.resource}/shard-east`]);
  });

  test('does not recreate a Shard that was deleted', async () => {
    await registration.start();
    root.objects.delete(`${shards.resource}//east`);
    root.objects.delete('leases/kube-system/shard-east');
    root.writes.length = 0;
    await clock.advance(30_000);
    expect(root.writes).toEqual([]);
  });
});
