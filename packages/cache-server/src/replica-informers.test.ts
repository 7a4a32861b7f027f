import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { DecodedObjects, encodeForStorage, ObjectReader } from '@multiplane/apiserver';
import type { ObjectReference } from '@multiplane/client';
import { informerConformance, textLabel } from '@multiplane/client/conformance';
import { systemClock } from '@multiplane/component-base';
import {
  cacheKey,
  CompactedError,
  MemoryStorage,
  openWatchCache,
  type Storage,
  type WatchBatch,
  type WatchCache,
} from '@multiplane/storage';
import { expect, test } from '@jest/globals';
import { ReplicaInformers } from './replica-informers.ts';

const kind = { group: 'rbac.authorization.k8s.io', resource: 'roles' };

/** A store whose watches can be made to fail as if history was gone. */
class ForgetfulStorage extends MemoryStorage {
  #fail = Promise.withResolvers<never>();

  forget(): void {
    const { reject } = this.#fail;
    this.#fail = Promise.withResolvers<never>();
    this.#fail.promise.catch(() => {});
    reject(new CompactedError(1, 2));
  }

  override async *watch(...parameters: Parameters<Storage['watch']>): AsyncGenerator<WatchBatch> {
    const failure = this.#fail.promise;
    failure.catch(() => {});
    const batches = super.watch(...parameters)[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([batches.next(), failure]);
      if (next.done === true) return;
      yield next.value;
    }
  }
}

interface Replicas {
  readonly storage: ForgetfulStorage;
  readonly cache: WatchCache;
  readonly informers: ReplicaInformers;
  readonly put: (shard: string, reference: ObjectReference, text: string) => Promise<void>;
  readonly remove: (shard: string, reference: ObjectReference) => Promise<void>;
}

async function openReplicas(): Promise<Replicas> {
  const storage = new ForgetfulStorage();
  const cache = openWatchCache({ prefix: '/cache/' }, { storage, clock: systemClock, onError: () => {} });
  await cache.ready;
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
  return {
    storage,
    cache,
    informers: new ReplicaInformers({ cache, reader }),
    put: async (shard, reference, text) => {
      const key = cacheKey(kind, { ...reference, shard });
      const value = encodeForStorage(replica(shard, reference, text));
      const current = await storage.get(key);
      if (current === undefined) await storage.create(key, value);
      else await storage.update(key, value, current.revision);
    },
    remove: async (shard, reference) => {
      const key = cacheKey(kind, { ...reference, shard });
      await storage.delete(key, (await storage.get(key))?.revision ?? 0);
    },
  };
}

function replica(shard: string, { cluster, namespace, name }: ObjectReference, text: string): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: {
      name,
      namespace,
      uid: '00000000-0000-4000-8000-000000000000',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { [textLabel]: text },
      annotations: { 'kcp.io/cluster': cluster, 'kcp.io/shard': shard },
    },
  };
}

const roles = { ...kind, version: 'v1' };
// Two clusters live on two shards, as they do.
const shardOf = ({ cluster }: ObjectReference): string => (cluster === ('one' as LogicalClusterName) ? 'a' : 'b');

informerConformance('over the replicas of all shards', async () => {
  const { storage, cache, informers, put, remove } = await openReplicas();
  return {
    informer: informers.informer(roles),
    put: (reference, text) => put(shardOf(reference), reference, text),
    remove: (reference) => remove(shardOf(reference), reference),
    interrupted: async (meanwhile) => {
      storage.forget();
      await meanwhile();
    },
    close: () => cache.close(),
  };
});

test('an object is found on whichever shard it is, also on one that came later or came back', async () => {
  const { cache, informers, put, remove } = await openReplicas();
  const informer = informers.informer(roles);
  const at = { cluster: 'x' as LogicalClusterName, namespace: 'n', name: 'r' };
  const shown = (): string | undefined => informer.get(at)?.metadata.annotations?.['kcp.io/shard'];
  expect(shown()).toBeUndefined();
  for (const shard of ['b', 'c', 'b']) {
    await put(shard, at, shard);
    await cache.freshRevision();
    expect(shown()).toBe(shard);
    expect(informer.list({ cluster: at.cluster })).toHaveLength(1);
    await remove(shard, at);
    await cache.freshRevision();
    expect(shown()).toBeUndefined();
  }
  await cache.close();
});

test('nothing is known before the cache is loaded', async () => {
  const cache = openWatchCache(
    { prefix: '/cache/' },
    { storage: new MemoryStorage(), clock: systemClock, onError: () => {} },
  );
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) });
  const informer = new ReplicaInformers({ cache, reader }).informer(roles);
  expect(informer.get({ cluster: 'x' as LogicalClusterName, namespace: 'n', name: 'r' })).toBeUndefined();
  await cache.close();
});
