import { afterAll, beforeAll } from '@jest/globals';
import { NatsServer } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import { openJetStreamStorage } from './open-jetstream-storage.ts';

let server: NatsServer;
let stores = 0;
beforeAll(async () => {
  server = await NatsServer.start({ maxPayloadBytes: 8 << 20 });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

storageConformance(
  'jetstream',
  async () => {
    const name = `store-${stores++}`;
    return await openJetStreamStorage({ servers: [server.url], stream: name, subjectPrefix: name });
  },
  { modelRuns: 15, without: { history: 'all', expiry: true, freeCompaction: true } },
);
