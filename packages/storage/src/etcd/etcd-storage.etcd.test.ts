import { afterAll, beforeAll } from '@jest/globals';
import { EtcdServer } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import { openEtcdStorage } from './open-etcd-storage.ts';

let server: EtcdServer;
let stores = 0;
beforeAll(async () => {
  server = await EtcdServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

storageConformance(
  'etcd',
  async () => await openEtcdStorage({ endpoints: [server.endpoint], prefix: `/store-${stores++}` }),
  { modelRuns: 25 },
);
