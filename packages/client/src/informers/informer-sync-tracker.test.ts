import { expect, test } from '@jest/globals';
import type { GroupVersionResource } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers } from '../lister.ts';
import { AwaitedInformers } from './awaited-informers.ts';
import { GlobalInformerSource } from './global-informer.ts';
import { emptyInformerSource } from './late-informer-source.ts';
import { PathAndNameIndex } from './path-and-name-index.ts';

const types: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };
const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };

/** Informers that know and tell when the test says so. */
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
    tell: () => {
      for (const reader of readers) reader.synced?.();
    },
  };
}

test('an index counts until it was told of everything, not only until the informer has it', async () => {
  const slow = slowSource();
  const informers = new AwaitedInformers({ source: slow.source });
  const index = new PathAndNameIndex({ informer: informers.informer(types) });
  informers.informer(secrets);
  informers.complete();
  expect(() => informers.check()).toThrow('not everything is known of workspacetypes.tenancy.kcp.io, secrets');
  await slow.sync();
  expect(() => informers.check()).toThrow('not everything is known of workspacetypes.tenancy.kcp.io');
  slow.tell();
  informers.check();
  expect(informers.isTold).toBe(true);
  await Promise.all([informers.told, index.synced]);
});

test('nobody is ready before all readers are made, and readers that come later are not waited for', async () => {
  const informers = new AwaitedInformers({ source: emptyInformerSource });
  informers.informer(types).addHandlers({});
  await informers.informer(types).synced;
  expect(informers.isTold).toBe(false);
  informers.complete();
  await informers.told;
  const slow = slowSource();
  const others = new AwaitedInformers({ source: slow.source });
  others.complete();
  others.informer(types).addHandlers({});
  expect(others.isTold).toBe(true);
});

test('who stops to listen, and who only forgets what changes, is not waited for', async () => {
  const slow = slowSource();
  const informers = new AwaitedInformers({ source: slow.source });
  const sources = { local: informers, cached: informers };
  const stop = new GlobalInformerSource({ ownShard: 'here' }, sources).informer(types).addHandlers({});
  new GlobalInformerSource({ ownShard: 'here' }, sources).informer(types).addHandlers({ onlyForgets: true });
  informers.complete();
  await slow.sync();
  expect(informers.isTold).toBe(false);
  stop();
  expect(informers.isTold).toBe(true);
});

test('an informer that fails never is known', async () => {
  const failing = { ...emptyInformerSource.informer(types), synced: Promise.reject(new Error('gone')) };
  const informers = new AwaitedInformers({ source: { informer: () => failing as never } });
  const informer = informers.informer(types);
  informers.complete();
  await expect(informer.synced).rejects.toThrow('gone');
  expect(informers.isTold).toBe(false);
});
