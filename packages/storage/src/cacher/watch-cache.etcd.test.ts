import { systemClock } from '@multiplane/component-base';
import { EtcdServer } from '@multiplane/testing';
import { afterAll, beforeAll } from '@jest/globals';
import { storageConformance } from '../conformance/index.ts';
import { openEtcdStorage } from '../etcd/open-etcd-storage.ts';
import type { Storage } from '../interface.ts';
import { openWatchCache } from './open-watch-cache.ts';

let server: EtcdServer;
let stores = 0;

beforeAll(async () => {
  server = await EtcdServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function openCache(): Promise<Storage> {
  const storage = await openEtcdStorage({ endpoints: [server.endpoint], prefix: `/store-${stores++}` });
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return cache;
}

storageConformance('watch cache over etcd', openCache, { modelRuns: 20 });
