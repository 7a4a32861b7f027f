import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EtcdServer, eventually, TcpProxy } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { LocalCluster } from '../harness/local-cluster.ts';
import { Requests } from '../harness/requests.ts';
import type { RecordedLoad } from './history/load.ts';
import { checkDuring } from './history/run-kills.ts';

/*
 * A control plane on an etcd that is stopped, slow, full, compacted and restored, under load that records its history: every
 * key is linearizable, every watch complete and in order.
 */

const configMaps = '/clusters/root/api/v1/namespaces/default/configmaps';

let etcd: EtcdServer;
let proxy: TcpProxy;
let cluster: LocalCluster;
let requests: Requests;

beforeAll(async () => {
  etcd = await EtcdServer.start();
  proxy = await TcpProxy.start(etcd.port);
  cluster = await LocalCluster.start({ flags: ['--etcd-servers', `http://127.0.0.1:${proxy.port}`] });
  requests = new Requests(cluster);
}, 120_000);
afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await etcd?.[Symbol.asyncDispose]();
});

async function some(load: RecordedLoad, writes: number): Promise<void> {
  const wanted = load.acknowledged + writes;
  await eventually(() => expect(load.acknowledged).toBeGreaterThanOrEqual(wanted), { timeout: 90_000 });
}
const readiness = async (): Promise<number> => (await requests.send({ path: '/readyz' })).status;
const isReady = (status: number): Promise<void> =>
  eventually(async () => expect(await readiness()).toBe(status), { timeout: 60_000 });
const create = async (name: string): Promise<number> =>
  (await requests.send({ method: 'POST', path: configMaps, body: configMap(name) })).status;

test.each<[string, (load: RecordedLoad) => Promise<void>]>([
  [
    'stopped, and started again',
    async () => {
      await etcd.process.stop();
      await isReady(500);
      await etcd.process.start();
    },
  ],
  [
    'slow: each message takes 150 ms more',
    async (load) => {
      proxy.delay(150);
      await some(load, 15);
      // Slow is not broken.
      expect(await readiness()).toBe(200);
      proxy.delay(0);
    },
  ],
  [
    'full: it has raised the alarm NOSPACE',
    async () => {
      const { header } = (await etcd.gateway('maintenance/status', {})) as { header: { member_id: string } };
      const alarm = { memberID: header.member_id, alarm: 'NOSPACE' };
      await etcd.gateway('maintenance/alarm', { ...alarm, action: 'ACTIVATE' });
      const refused = await requests.send({ method: 'POST', path: configMaps, body: configMap('full') });
      expect([refused.status, refused.json['message']]).toEqual([
        507,
        'the server has no room left to store the object',
      ]);
      expect((await requests.send({ path: configMaps })).status).toBe(200);
      await isReady(500);
      await etcd.gateway('maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
    },
  ],
  [
    'compacted up to its latest revision, also while the shard has no connection',
    async (load) => {
      for (const isCut of [false, true]) {
        if (isCut) proxy.refuse();
        const { header } = (await etcd.gateway('maintenance/status', {})) as { header: { revision: string } };
        await etcd.gateway('kv/compaction', { revision: header.revision, physical: true });
        proxy.accept();
        await some(load, 15);
      }
    },
  ],
])(
  'etcd is %s',
  async (what, happen) => {
    const result = await checkDuring(cluster, what.slice(0, 4), async (load) => {
      await some(load, 15);
      await happen(load);
      await isReady(200);
      await some(load, 15);
    });
    expect(result.problems).toEqual([]);
    expect(result.operations).toBeGreaterThan(40);
    expect(result.events).toBeGreaterThan(10);
  },
  240_000,
);

test('etcd is restored from a backup: the shard serves the state of the backup, and no revision of the lost future', async () => {
  expect(await eventually(() => create('before-the-backup'))).toBe(201);
  await etcd.process.stop();
  cpSync(etcd.data, `${etcd.data}.backup`, { recursive: true });
  await etcd.process.start();
  await isReady(200);
  expect(await create('after-the-backup')).toBe(201);
  const list = (await requests.must({ path: `${configMaps}?limit=1` })).json['metadata'] as { resourceVersion: string };
  await cluster.process.stop();
  await etcd.process.stop();
  rmSync(etcd.data, { recursive: true });
  cpSync(`${etcd.data}.backup`, etcd.data, { recursive: true });
  rmSync(`${etcd.data}.backup`, { recursive: true });
  await etcd.process.start();
  await cluster.process.start();
  requests[Symbol.dispose]();
  requests = new Requests(cluster);
  expect((await requests.send({ path: `${configMaps}/before-the-backup` })).status).toBe(200);
  expect((await requests.send({ path: `${configMaps}/after-the-backup` })).status).toBe(404);
  // A client with a revision of the lost future gets an error and no older state.
  const future = Number(list.resourceVersion) + 1_000_000;
  const ahead = await requests.send({
    path: `${configMaps}?resourceVersion=${future}&resourceVersionMatch=NotOlderThan`,
  });
  expect([ahead.status, ahead.text]).toEqual([504, expect.stringContaining('Too large resource version')]);
  expect(await create('after-the-backup')).toBe(201);
}, 240_000);
