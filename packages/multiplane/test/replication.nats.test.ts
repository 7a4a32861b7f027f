import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { cacheServerOptionTable, completeCacheServerOptions, runCacheServer } from '@multiplane/cache-server';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { parseOptions, silentLogger } from '@multiplane/component-base';
import { initClusterPki } from '@multiplane/component-base/pki';
import { eventually, freePorts, NatsServer, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const kcp = (group: string, resource: string): GroupVersionResource => ({ group, version: 'v1alpha1', resource });
const workspaces = kcp('tenancy.kcp.io', 'workspaces');
const workspaceTypes = kcp('tenancy.kcp.io', 'workspacetypes');
const root = 'root' as LogicalClusterName;

/** Two shards, connected by a stream and a cache server, which are stopped and restarted. */
describe('two shards over NATS', () => {
  let pki: TempDir;
  let folder: TempDir;
  let nats: NatsServer;
  let ports: { root: number; east: number; cache: number };
  let first: InProcessShard;
  let second: InProcessShard;
  let cache: { stop: () => Promise<void> };

  beforeAll(async () => {
    [pki, folder, nats] = await Promise.all([TempDir.create('pki'), TempDir.create('servers'), NatsServer.start()]);
    const [rootPort, eastPort, cachePort] = (await freePorts(3)) as [number, number, number];
    ports = { root: rootPort, east: eastPort, cache: cachePort };
    const url = (port: number): string => `https://127.0.0.1:${port}`;
    await initClusterPki({
      directory: pki.path,
      shardUrls: { root: url(ports.root), east: url(ports.east) },
      externalUrl: url(ports.root),
      frontProxyUrl: url(ports.root),
      cacheUrl: url(ports.cache),
      hosts: [],
      days: 2,
      authorityDays: 2,
    });
    cache = await startCacheServer();
    first = await InProcessShard.start([...shardFlags('root'), '--storage-backend=memory']);
    second = await InProcessShard.start([
      ...shardFlags('east'),
      '--storage-backend=memory',
      `--root-shard-kubeconfig-file=${pki.join('root-shard.kubeconfig')}`,
    ]);
  }, 120_000);
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    await cache.stop();
    await nats[Symbol.asyncDispose]();
    await folder.remove();
    await pki.remove();
  });

  const shardFlags = (name: 'root' | 'east'): string[] => [
    `--shard-name=${name}`,
    `--shard-base-url=https://127.0.0.1:${ports[name]}`,
    `--shard-external-url=https://127.0.0.1:${ports[name]}`,
    `--secure-port=${ports[name]}`,
    `--tls-cert-file=${pki.join(`shard-${name}/tls.crt`)}`,
    `--tls-private-key-file=${pki.join(`shard-${name}/tls.key`)}`,
    `--root-ca-file=${pki.join('serving-ca.crt')}`,
    `--client-ca-file=${pki.join('client-ca.crt')}`,
    `--requestheader-client-ca-file=${pki.join('requestheader-ca.crt')}`,
    `--service-account-private-key-file=${pki.join('service-account.key')}`,
    `--logical-cluster-admin-kubeconfig=${pki.join('logical-cluster-admin.kubeconfig')}`,
    `--cache-kubeconfig=${pki.join('cache.kubeconfig')}`,
    `--nats-servers=${nats.url}`,
  ];

  async function startCacheServer(): Promise<{ stop: () => Promise<void> }> {
    const args = [
      '--root-directory',
      folder.join('cache'),
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.cache}`,
      `--tls-cert-file=${pki.join('cache-server/tls.crt')}`,
      `--tls-private-key-file=${pki.join('cache-server/tls.key')}`,
      `--client-ca-file=${pki.join('client-ca.crt')}`,
      `--nats-servers=${nats.url}`,
    ];
    const options = completeCacheServerOptions(parseOptions(cacheServerOptionTable, { args }).values);
    const abort = new AbortController();
    const running = runCacheServer(options, { logger: silentLogger, signal: abort.signal, version: 'test' });
    const file = pki.join('cache.kubeconfig');
    const transport = new RestTransport({ config: clientConfigOf(readKubeconfig(file), file) });
    await Promise.race([
      running,
      eventually(async () => {
        await transport.json({
          method: 'GET',
          path: '/services/cache/shards/*/clusters/*/apis/core.kcp.io/v1alpha1/shards',
        });
      }),
    ]);
    transport.close();
    return {
      stop: async () => {
        abort.abort();
        await running;
      },
    };
  }

  /** Creates a workspace on the second shard, whose admission must know the type of either shard. */
  const createOnEast = (name: string, type: string, path: string): Promise<KubeObject> =>
    first.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec: { type: { name: type, path }, location: { selector: { matchLabels: { name: 'east' } } } },
    });
  const ready = (name: string): Promise<LogicalClusterName> =>
    eventually(async () => {
      const workspace = await first.client.get(workspaces, { cluster: root, namespace: '', name });
      expect(workspace['status']).toMatchObject({ phase: 'Ready' });
      return (workspace['spec'] as { cluster: LogicalClusterName }).cluster;
    });
  const createType = (on: InProcessShard, cluster: LogicalClusterName, name: string): Promise<KubeObject> =>
    on.client.create(workspaceTypes, cluster, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name },
      spec: { extend: { with: [{ name: 'universal', path: 'root' }] } },
    });

  test('a workspace type of each shard is used on the other', async () => {
    await eventually(async () => createOnEast('far', 'universal', 'root'));
    const far = await ready('far');
    // The type is made on the second shard; the first one learns of it by the cache server alone.
    await createType(second, far, 'distant');
    await eventually(() => createOnEast('child', 'distant', 'root:far'));
    expect(await ready('child')).not.toBe('');
  }, 120_000);

  test('changes during an outage of the cache server are visible afterwards', async () => {
    await cache.stop();
    const far = await ready('far');
    await createType(second, far, 'later');
    await expect(createOnEast('too-early', 'later', 'root:far')).rejects.toThrow('later');
    cache = await startCacheServer();
    await eventually(() => createOnEast('late', 'later', 'root:far'), { timeout: 25_000 });
    expect(await ready('late')).not.toBe('');
  }, 120_000);

  test('changes during an outage of NATS are published afterwards', async () => {
    await nats.process.kill();
    const far = await ready('far');
    await createType(second, far, 'latest');
    await nats.process.start();
    await eventually(() => createOnEast('last', 'latest', 'root:far'), { timeout: 40_000 });
    expect(await ready('last')).not.toBe('');
  }, 240_000);
});
