import { encodeForStorage, DecodedObjects, ObjectReader } from '@multiplane/apiserver';
import type { KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import { informerConformance, textLabel } from '@multiplane/client/conformance';
import { systemClock } from '@multiplane/component-base';
import {
  cacheKey,
  cachePrefix,
  CompactedError,
  MemoryStorage,
  openWatchCache,
  type Storage,
  type WatchBatch,
} from '@multiplane/storage';
import { CachedObjectInformers } from './cached-object-informers.ts';

const kind = { group: '', resource: 'configmaps' };

/** A store whose watches fail on demand with a compaction error. */
class CompactableStorage extends MemoryStorage {
  #fail = Promise.withResolvers<never>();

  failWatches(): void {
    const { reject } = this.#fail;
    this.#fail = Promise.withResolvers<never>();
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

const cachedObjectOf = ({ cluster, namespace, name }: ObjectReference, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace,
    uid: '00000000-0000-4000-8000-000000000000',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { [textLabel]: text },
    annotations: { 'kcp.io/cluster': cluster, 'kcp.io/shard': 'east' },
  },
});

informerConformance('cached objects of all shards', async () => {
  const storage = new CompactableStorage();
  const cache = openWatchCache({ prefix: cachePrefix }, { storage, clock: systemClock, onError: () => {} });
  await cache.ready;
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
  const keyOf = (reference: ObjectReference): string => cacheKey(kind, { ...reference, shard: 'east' });
  return {
    informer: new CachedObjectInformers({ cache, reader }).informer({ ...kind, version: 'v1' }),
    put: async (reference, text) => {
      const value = encodeForStorage(cachedObjectOf(reference, text));
      const current = await storage.get(keyOf(reference));
      if (current === undefined) await storage.create(keyOf(reference), value);
      else await storage.update(keyOf(reference), value, current.revision);
    },
    remove: async (reference) => {
      await storage.delete(keyOf(reference), (await storage.get(keyOf(reference)))?.revision ?? 0);
    },
    whileDisconnected: async (meanwhile) => {
      storage.failWatches();
      await meanwhile();
    },
    close: () => cache.close(),
  };
});
