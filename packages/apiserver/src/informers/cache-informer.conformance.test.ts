import type { KubeObject } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { informerConformance, textLabel } from '@multiplane/client/conformance';
import { systemClock } from '@multiplane/component-base';
import {
  builtInPrefix,
  CompactedError,
  MemoryStorage,
  objectKey,
  openWatchCache,
  type Storage,
  type WatchBatch,
} from '@multiplane/storage';
import { DecodedObjects } from '../registry/store/decoded-objects.ts';
import { encodeForStorage } from '../registry/codec/object-codec.ts';
import { ObjectReader } from '../registry/store/object-reader.ts';
import { CacheInformerFactory } from './cache-informer-factory.ts';

const prefix = builtInPrefix('', 'configmaps');

/** A store whose watches can be made to fail as if the history was compacted. */
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

const objectOf = ({ cluster, namespace, name }: ObjectReference, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace,
    uid: '00000000-0000-4000-8000-000000000000',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { [textLabel]: text },
    annotations: { 'kcp.io/cluster': cluster },
  },
});

informerConformance('over the watch cache', async () => {
  const storage = new ForgetfulStorage();
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => {} });
  await cache.ready;
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
  const factory = new CacheInformerFactory({ cache, reader, builtIn: builtInResources() });
  const keyOf = (reference: ObjectReference): string => objectKey(prefix, reference);
  return {
    informer: factory.informer({ group: '', version: 'v1', resource: 'configmaps' }),
    put: async (reference, text) => {
      const value = encodeForStorage(objectOf(reference, text));
      const current = await storage.get(keyOf(reference));
      if (current === undefined) await storage.create(keyOf(reference), value);
      else await storage.update(keyOf(reference), value, current.revision);
    },
    remove: async (reference) => {
      await storage.delete(keyOf(reference), (await storage.get(keyOf(reference)))?.revision ?? 0);
    },
    whileDisconnected: async (meanwhile) => {
      storage.forget();
      await meanwhile();
    },
    close: () => cache.close(),
  };
});
