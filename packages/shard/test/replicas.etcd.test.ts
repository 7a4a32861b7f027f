import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { EtcdServer, eventually, TcpProxy, TempDir, createWithRetry } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const resource = (group: string, name: string, version = 'v1'): GroupVersionResource => ({
  group,
  version,
  resource: name,
});
const workspaces = resource('tenancy.kcp.io', 'workspaces', 'v1alpha1');
const logicalClusters = resource('core.kcp.io', 'logicalclusters', 'v1alpha1');
const root = 'root' as LogicalClusterName;
const systemAdmin = 'system:admin' as LogicalClusterName;

let etcd: EtcdServer;
let keys: TempDir;
beforeAll(async () => {
  etcd = await EtcdServer.start();
  keys = await TempDir.create('keys');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(keys.join('sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
}, 120_000);
afterAll(async () => {
  await etcd[Symbol.asyncDispose]();
  await keys.remove();
});

/** One replica of a shard; `port` is that of the shared etcd. */
const replica = (port: number, prefix: string): Promise<InProcessShard> =>
  InProcessShard.start([
    `--etcd-servers=http://127.0.0.1:${port}`,
    `--etcd-prefix=${prefix}`,
    `--service-account-private-key-file=${keys.join('sa.key')}`,
    '--enable-leader-election',
    '--leader-election-lease-duration=3s',
    '--leader-election-renew-deadline=1500ms',
    '--leader-election-retry-period=200ms',
  ]);

async function holder(shard: InProcessShard): Promise<string> {
  const lease = await shard.client.get(resource('coordination.k8s.io', 'leases'), {
    cluster: systemAdmin,
    namespace: 'kube-system',
    name: 'kcp-controllers',
  });
  return (lease['spec'] as { holderIdentity?: string }).holderIdentity ?? '';
}

const create = (shard: InProcessShard, name: string): Promise<KubeObject> =>
  shard.client.create(workspaces, root, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name },
  });

async function ready(shard: InProcessShard, name: string): Promise<void> {
  await eventually(async () => {
    const workspace = await shard.client.get(workspaces, { cluster: root, namespace: '', name });
    expect((workspace['status'] as { phase?: string }).phase).toBe('Ready');
  });
}

/** Workspaces and logical clusters that do not match one to one. */
async function unpaired(shard: InProcessShard): Promise<string[]> {
  const owned = (await shard.client.list(workspaces, { cluster: '*' })).items.map(
    ({ spec }) => (spec as { cluster: string }).cluster,
  );
  const made = (await shard.client.list(logicalClusters, { cluster: '*' })).items.map(
    ({ metadata }) => metadata.annotations?.['kcp.io/cluster'] ?? '',
  );
  const wanted = [...owned, root];
  const counts = new Map<string, number>();
  for (const name of made) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const name of wanted) counts.set(name, (counts.get(name) ?? 0) - 1);
  return [...counts].filter(([, count]) => count !== 0).map(([name, count]) => `${name} ${count}`);
}

test('replicas that start concurrently bootstrap one shard', async () => {
  const shards = await Promise.all(['/together', '/together', '/together'].map((prefix) => replica(etcd.port, prefix)));
  const [first, second, third] = shards as [InProcessShard, InProcessShard, InProcessShard];
  for (const [shard, name] of [
    [first, 'a'],
    [second, 'b'],
    [third, 'c'],
  ] as const)
    await create(shard, name);
  for (const name of ['a', 'b', 'c']) await ready(first, name);
  expect(await unpaired(third)).toEqual([]);
  await Promise.all(shards.map((shard) => shard[Symbol.asyncDispose]()));
}, 120_000);

test('all replicas serve requests, one runs the controllers, and another one takes over after its failure', async () => {
  await using road = await TcpProxy.start(etcd.port);
  const first = await replica(road.port, '/over');
  const leader = await eventually(async () => {
    const name = await holder(first);
    expect(name).not.toBe('');
    return name;
  });
  const second = await replica(etcd.port, '/over');
  for (const name of ['a', 'b']) await create(first, name);
  for (const name of ['c', 'd']) await create(second, name);
  for (const name of ['a', 'b', 'c', 'd']) {
    await ready(first, name);
    await ready(second, name);
  }
  expect(await holder(second)).toBe(leader);

  // The leader loses its connection to etcd, which the others cannot tell from a crash.
  road.refuse();
  road.cut();
  for (const name of ['e', 'f']) await create(second, name);
  for (const name of ['e', 'f']) await ready(second, name);
  const survivor = await holder(second);
  expect(survivor).not.toBe(leader);

  // After reconnecting it serves requests and does not lead.
  road.accept();
  await createWithRetry(() => create(first, 'g'));
  await ready(second, 'g');
  await ready(first, 'g');
  expect(await holder(second)).toBe(survivor);
  expect(await unpaired(first)).toEqual([]);

  // A graceful shutdown releases the lease, so the other one leads again.
  await second.stop();
  await create(first, 'h');
  await ready(first, 'h');
  expect(await holder(first)).toBe(leader);
  expect(await unpaired(first)).toEqual([]);
  await first.stop();
  await first.directory.remove();
  await second.directory.remove();
}, 120_000);
