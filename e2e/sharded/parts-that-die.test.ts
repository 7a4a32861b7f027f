import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

/*
 * What docs/operate.md says about each part of a sharded control plane that dies, tried by killing it: who notices, who
 * does not, and that no server needs a restart when it is back.
 */

let cluster: ShardedCluster;
let requests: Requests;
let admin: RestTransport;
/** A workspace on each shard. */
const workspaces = { root: 'root:on-root', 'shard-1': 'root:on-shard-1' } as const;

const configMaps = (workspace: string): string => `/clusters/${workspace}/api/v1/namespaces/default/configmaps`;
const read = (workspace: string): Promise<Response> => requests.send({ path: configMaps(workspace) });
let counter = 0;
const write = (workspace: string): Promise<Response> =>
  requests.send({
    method: 'POST',
    path: configMaps(workspace),
    body: configMap(`c-${++counter}`, {}, { namespace: 'default' }),
  });

async function bothWork(): Promise<void> {
  for (const workspace of Object.values(workspaces)) {
    expect((await read(workspace)).status).toBe(200);
    expect((await write(workspace)).status).toBe(201);
  }
}

beforeAll(async () => {
  cluster = await ShardedCluster.start();
  requests = new Requests(cluster);
  admin = cluster.transport('shard-base');
  await createWorkspace(admin, 'root', 'on-root', { shard: 'root' });
  await createWorkspace(admin, 'root', 'on-shard-1', { shard: 'shard-1' });
  await eventually(bothWork, { timeout: 20_000 });
}, 180_000);

afterAll(async () => {
  admin?.close();
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

test('a workspace lies on the shard it was placed on, and is one of many for clients', async () => {
  const list = await requests.must({ path: '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces' });
  const names = (list.json['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
  expect(names).toEqual(expect.arrayContaining(['on-root', 'on-shard-1']));
  for (const shard of cluster.shards) {
    const transport = cluster.shardTransport(shard);
    try {
      const stored = JSON.stringify(
        await transport.json({ method: 'GET', path: '/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters' }),
      );
      for (const [home, path] of Object.entries(workspaces))
        expect([shard, path, stored.includes(`"kcp.io/path":"${path}"`)]).toEqual([shard, path, home === shard]);
    } finally {
      transport.close();
    }
  }
});

test('what is made below a workspace is on the shard of its parent, or on the selected one', async () => {
  const shardOf = async (parent: string, name: string): Promise<unknown> => {
    const path = `/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`;
    return field((await requests.must({ path })).json as Json, 'metadata', 'annotations', 'core.kcp.io/shard');
  };
  for (const [home, parent] of Object.entries(workspaces)) {
    for (const name of ['one', 'two', 'three', 'four']) {
      await createWorkspace(admin, parent, name);
      expect([parent, name, await shardOf(parent, name)]).toEqual([parent, name, home]);
    }
    for (const shard of cluster.shards) {
      await createWorkspace(admin, parent, `on-${shard}`, { shard });
      expect(await shardOf(parent, `on-${shard}`)).toBe(shard);
    }
  }
});

// Others serve on without them, and they come back without anybody's help.
test.each(['cache-server', 'nats', 'virtual-workspaces-root', 'virtual-workspaces-shard-1'])(
  'without %s workspaces are read and written on, and it is taken up again',
  async (name) => {
    await cluster.process(name).kill();
    await bothWork();
    await cluster.process(name).start();
    await bothWork();
    // Placing a workspace needs all of them.
    expect(await createWorkspace(admin, 'root', `after-${name}`)).toBe(`root:after-${name}`);
  },
  120_000,
);

test('without a shard its own workspaces answer 503 with Retry-After, at once, and all others work', async () => {
  await cluster.process('shard-shard-1').kill();
  const answer = await read(workspaces['shard-1']);
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  expect((await read(workspaces.root)).status).toBe(200);
  expect((await write(workspaces.root)).status).toBe(201);
  await cluster.process('shard-shard-1').start();
  await eventually(bothWork, { timeout: 20_000 });
}, 120_000);

test('without its etcd a shard is not ready and writes nothing; the other shard works', async () => {
  await cluster.process('etcd-shard-1').kill();
  await eventually(
    async () => {
      const shard = cluster.shardTransport('shard-1');
      try {
        const answer = await shard.open({ method: 'GET', path: '/readyz' });
        answer.resume();
        expect(answer.statusCode).toBe(500);
      } finally {
        shard.close();
      }
    },
    { timeout: 20_000 },
  );
  expect((await write(workspaces.root)).status).toBe(201);
  await cluster.process('etcd-shard-1').start();
  await eventually(bothWork, { timeout: 60_000 });
}, 120_000);

test('without the front-proxy no client gets in; after a restart it finds every workspace', async () => {
  await cluster.process('front-proxy').kill();
  await expect(read(workspaces.root)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
  await cluster.process('front-proxy').start();
  await bothWork();
}, 120_000);

test('without the root shard the workspaces of others work', async () => {
  await cluster.process('shard-root').kill();
  expect((await read(workspaces.root)).status).toBe(503);
  expect((await read(workspaces['shard-1'])).status).toBe(200);
  expect((await write(workspaces['shard-1'])).status).toBe(201);
  await cluster.process('shard-root').start();
  await eventually(bothWork, { timeout: 20_000 });
  await createWorkspace(admin, 'root', 'after-root');
}, 120_000);
