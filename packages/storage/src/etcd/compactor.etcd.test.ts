import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EtcdServer } from '@multiplane/testing';
import { bytes, codeOf } from '../../test/conformance/subject.ts';
import { WatchFailureReporter } from '../watch-failure-reporter.ts';
import { Compactor } from './compactor.ts';
import { EtcdClient } from './etcd-client.ts';
import { EtcdKeys } from './etcd-keys.ts';
import { LeasePool } from './lease-pool.ts';
import { openEtcdStorage } from './open-etcd-storage.ts';

let server: EtcdServer;
let client: EtcdClient;
beforeAll(async () => {
  server = await EtcdServer.start();
  client = new EtcdClient({ endpoints: [server.endpoint], tls: undefined, requestTimeoutMs: 5000 });
});
afterAll(async () => {
  client.close();
  await server[Symbol.asyncDispose]();
});

test('of several compactors one compacts per interval, and history is kept for one interval', async () => {
  const store = await openEtcdStorage({ endpoints: [server.endpoint], prefix: '/compactor', compactionIntervalMs: 0 });
  const keys = new EtcdKeys('/compactor');
  const [a, b] = [0, 0].map(
    () => new Compactor({ intervalMs: 0 }, { client, keys, watchFailures: new WatchFailureReporter() }),
  ) as [Compactor, Compactor];
  const first = await store.create('/registry/a', bytes('1'));

  expect(await a.compactOnce()).toBe(0);
  expect(await b.compactOnce()).toBe(0);
  const second = await store.create('/registry/b', bytes('1'));
  const turns = await Promise.all([a.compactOnce(), b.compactOnce()]);
  const compacted = Math.max(...turns);
  expect(Math.min(...turns)).toBe(0);
  expect(compacted).toBeGreaterThanOrEqual(first);
  expect(compacted).toBeLessThan(second);

  expect((await store.list('/registry/', { revision: compacted })).items).toHaveLength(1);
  await expect(store.list('/registry/', { revision: compacted - 1 })).rejects.toMatchObject({
    code: 'Compacted',
    oldest: compacted,
  });
  // The hidden keys of the compactor are not visible.
  expect((await store.list('/registry/')).items.map((item) => item.key)).toEqual(['/registry/a', '/registry/b']);
  expect(await codeOf(store.list('/registry/', { limit: 1 }).then(({ remaining }) => expect(remaining).toBe(1)))).toBe(
    'none',
  );
  await store.close();
});

test('keys with the same TTL share a lease, and an expired lease is replaced', async () => {
  const leases = new LeasePool(client);
  const ids = await Promise.all(Array.from({ length: 50 }, () => leases.lease(3600)));
  expect(new Set(ids).size).toBe(1);
  expect(await leases.lease(60)).not.toBe(ids[0]);
  leases.drop(3600);
  expect(await leases.lease(3600)).not.toBe(ids[0]);

  const store = await openEtcdStorage({ endpoints: [server.endpoint], prefix: '/leases' });
  await store.create('/registry/a', bytes('1'), { ttlSeconds: 3600 });
  for (const { ID } of (await client.lease.leaseLeases()).leases) await client.lease.leaseRevoke({ ID });
  expect(await store.get('/registry/a')).toBeUndefined();
  await store.create('/registry/b', bytes('1'), { ttlSeconds: 3600 });
  expect(await store.get('/registry/b')).toBeDefined();
  await store.close();
});
