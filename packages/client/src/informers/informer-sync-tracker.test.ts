import { expect, test } from '@jest/globals';
import type { GroupVersionResource } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers } from '../lister.ts';
import { InformerSyncTracker } from './informer-sync-tracker.ts';
import { GlobalInformerSource } from './global-informer.ts';
import { emptyInformerSource } from './empty-informer-source.ts';
import { PathAndNameIndex } from './path-and-name-index.ts';

const types: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };
const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };

/** Informers that sync, and then call their handlers, when the test says so. */
function slowSource() {
  const readers = new Set<InformerHandlers>();
  const synced = Promise.withResolvers<void>();
  const informer: Informer = {
    synced: synced.promise,
    get: () => undefined,
    list: () => [],
    addHandlers: (handlers) => {
      readers.add(handlers);
      return () => void readers.delete(handlers);
    },
  };
  return {
    source: { informer: () => informer as never },
    sync: async () => {
      synced.resolve();
      await synced.promise;
    },
    callHandlers: () => {
      for (const reader of readers) reader.synced?.();
    },
  };
}

test('an index is pending until its handlers were called, not only until the informer has synced', async () => {
  const slow = slowSource();
  const informers = new InformerSyncTracker({ source: slow.source });
  const index = new PathAndNameIndex({ informer: informers.informer(types) });
  informers.informer(secrets);
  informers.complete();
  expect(() => informers.check()).toThrow('informers not synced: workspacetypes.tenancy.kcp.io, secrets');
  await slow.sync();
  expect(() => informers.check()).toThrow('informers not synced: workspacetypes.tenancy.kcp.io');
  slow.callHandlers();
  informers.check();
  expect(informers.hasSynced).toBe(true);
  await Promise.all([informers.synced, index.synced]);
});

test('has not synced before registration is complete, and ignores readers that are added later', async () => {
  const informers = new InformerSyncTracker({ source: emptyInformerSource });
  informers.informer(types).addHandlers({});
  await informers.informer(types).synced;
  expect(informers.hasSynced).toBe(false);
  informers.complete();
  await informers.synced;
  const slow = slowSource();
  const others = new InformerSyncTracker({ source: slow.source });
  others.complete();
  others.informer(types).addHandlers({});
  expect(others.hasSynced).toBe(true);
});

test('ignores removed handlers and handlers that only invalidate', async () => {
  const slow = slowSource();
  const informers = new InformerSyncTracker({ source: slow.source });
  const sources = { local: informers, cached: informers };
  const stop = new GlobalInformerSource({ localShard: 'here' }, sources).informer(types).addHandlers({});
  new GlobalInformerSource({ localShard: 'here' }, sources).informer(types).addHandlers({ onlyInvalidates: true });
  informers.complete();
  await slow.sync();
  expect(informers.hasSynced).toBe(false);
  stop();
  expect(informers.hasSynced).toBe(true);
});

test('never syncs when an informer fails', async () => {
  const failing = { ...emptyInformerSource.informer(types), synced: Promise.reject(new Error('gone')) };
  const informers = new InformerSyncTracker({ source: { informer: () => failing as never } });
  const informer = informers.informer(types);
  informers.complete();
  await expect(informer.synced).rejects.toThrow('gone');
  expect(informers.hasSynced).toBe(false);
});
