import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EtcdServer, eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

let etcd: EtcdServer;
beforeAll(async () => {
  etcd = await EtcdServer.start();
}, 60_000);
afterAll(() => etcd?.[Symbol.asyncDispose]());

test('without etcd a shard is alive and not ready, and becomes ready again', async () => {
  await using shard = await InProcessShard.start([`--etcd-servers=${etcd.endpoint}`]);
  const ask = async (path: string): Promise<number> => {
    const response = await shard.transport.open({ method: 'GET', path });
    response.resume();
    return response.statusCode ?? 0;
  };
  expect([await ask('/livez'), await ask('/readyz')]).toEqual([200, 200]);

  await etcd.process.kill();
  await eventually(async () => expect(await ask('/readyz')).toBe(500));
  expect(await ask('/livez')).toBe(200);
  expect(await ask('/livez/etcd')).toBe(404);

  await etcd.process.restart();
  await eventually(async () => expect(await ask('/readyz')).toBe(200));
}, 120_000);
