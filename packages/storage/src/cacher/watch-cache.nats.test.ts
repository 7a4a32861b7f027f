import { systemClock } from '@multiplane/component-base';
import { NatsServer } from '@multiplane/testing';
import { afterAll, beforeAll } from '@jest/globals';
import { storageConformance } from '../../test/conformance/index.ts';
import { cacheIndexConformance } from '../../test/conformance/indexes.ts';
import { openJetStreamStorage } from '../jetstream/open-jetstream-storage.ts';
import { openWatchCache } from './open-watch-cache.ts';
import type { BackedWatchCache } from './watch-cache.ts';

let server: NatsServer;
let stores = 0;
beforeAll(async () => {
  server = await NatsServer.start({ maxPayloadBytes: 8 << 20 });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function openCache(): Promise<BackedWatchCache> {
  const name = `store-${stores++}`;
  const storage = await openJetStreamStorage({ servers: [server.url], stream: name, subjectPrefix: name });
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return cache;
}

cacheIndexConformance('over jetstream', openCache);

storageConformance('watch cache over jetstream', openCache, {
  modelRuns: 15,
  without: { history: 'most', expiry: true, freeCompaction: true },
});
