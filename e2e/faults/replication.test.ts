import { cp, readFile, rename, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestClient, RestTransport } from '@multiplane/client';
import { eventually, jetStreamApi } from '@multiplane/testing';
import { ShardedCluster } from '../harness/sharded-cluster.ts';

const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const apiExports: GroupVersionResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };
const root = 'root' as LogicalClusterName;
const everywhere = '/clusters/*/apis/apis.kcp.io/v1alpha2/apiexports';
const patience = { timeout: 90_000, interval: 200 };

/**
 * What shards share, while the processes on the way die, stand still or forget everything. Whatever happens: once writes
 * rest, the cache holds the union of the shards.
 */
describe('replicas of two shards', () => {
  let cluster: ShardedCluster;
  let cache: RestTransport;
  let shards: RestTransport[];
  let writing: Load;

  beforeAll(async () => {
    cluster = await ShardedCluster.start();
    const file = cluster.path('pki', 'cache.kubeconfig');
    const kubeconfig = readKubeconfig(file);
    cache = new RestTransport({ config: clientConfigOf(kubeconfig, file, kubeconfig['current-context'] ?? '') });
    shards = cluster.shardTransports();
    writing = new Load([
      { client: new RestClient({ transport: shards[0] as RestTransport }), cluster: root },
      { client: new RestClient({ transport: shards[1] as RestTransport }), cluster: await workspaceOnShard1() },
    ]);
  }, 240_000);
  afterAll(async () => {
    await writing.stop();
    for (const transport of [cache, ...shards]) transport.close();
    await cluster[Symbol.asyncDispose]();
  });

  async function workspaceOnShard1(): Promise<LogicalClusterName> {
    const transport = cluster.transport('root');
    const client = new RestClient({ transport });
    const location = { selector: { matchLabels: { name: 'shard-1' } } };
    const spec = { type: { name: 'universal', path: 'root' }, location };
    await eventually(
      () =>
        client.create(workspaces, root, {
          apiVersion: 'tenancy.kcp.io/v1alpha1',
          kind: 'Workspace',
          metadata: { name: 'elsewhere' },
          spec,
        }),
      patience,
    );
    const name = await eventually(async () => {
      const workspace = await client.get(workspaces, { cluster: root, namespace: '', name: 'elsewhere' });
      const status = workspace['status'] as { phase?: string } | undefined;
      if (status?.phase !== 'Ready') throw new Error(`the workspace is ${status?.phase}`);
      return (workspace['spec'] as { cluster: string }).cluster;
    }, patience);
    transport.close();
    return name as LogicalClusterName;
  }

  /** As an operator with the `nats` command. */
  async function jetStream(action: 'PURGE' | 'DELETE'): Promise<void> {
    const { port } = cluster.ports.find(({ name }) => name === 'nats') as { port: number };
    const [ca, cert, key] = await Promise.all(
      ['storage-ca.crt', 'storage-client/tls.crt', 'storage-client/tls.key'].map((file) =>
        readFile(cluster.path('pki', file)),
      ),
    );
    const answer = await jetStreamApi({ port, tls: { ca, cert, key } }, `STREAM.${action}.multiplane`);
    expect(answer).toMatchObject({ success: true });
  }

  async function list(
    transport: RestTransport,
    path: string,
    version: (meta: KubeObject['metadata']) => string | undefined,
  ): Promise<string[]> {
    const { items } = (await transport.json({ method: 'GET', path })) as unknown as { items: KubeObject[] };
    return items
      .map(({ metadata }) => `${metadata.annotations?.['kcp.io/cluster']} ${metadata.name} ${version(metadata)}`)
      .filter((line) => !line.startsWith('system:'))
      .toSorted();
  }

  /** Waits until the cache has the objects of the shards, in their versions; returns how many. */
  async function sameAsShards(): Promise<number> {
    return await eventually(async () => {
      const own = await Promise.all(shards.map((shard) => list(shard, everywhere, (meta) => meta.resourceVersion)));
      const replicas = await list(
        cache,
        `/services/cache/shards/*${everywhere}`,
        (meta) => meta.annotations?.['cache.kcp.io/original-resource-version'],
      );
      expect(replicas).toEqual(own.flat().toSorted());
      return replicas.length;
    }, patience);
  }

  test.each<[string, () => Promise<void>]>([
    ['nothing happens', async () => undefined],
    [
      'the cache server is killed',
      async () => {
        await cluster.process('cache-server').kill();
        await writing.some(20);
        await cluster.process('cache-server').start();
      },
    ],
    [
      'the cache server stands still',
      async () => {
        await cluster.process('cache-server').freeze();
        await writing.some(60);
        cluster.process('cache-server').thaw();
      },
    ],
    [
      'NATS is killed',
      async () => {
        await cluster.process('nats').kill();
        await writing.some(20);
        await cluster.process('nats').start();
      },
    ],
    [
      'a shard is killed between its writes and their publication',
      async () => {
        await cluster.process('nats').freeze();
        await writing.some(20);
        await cluster.process('shard-shard-1').kill();
        cluster.process('nats').thaw();
        await cluster.process('shard-shard-1').start();
      },
    ],
    [
      'NATS loses everything',
      async () => {
        await cluster.process('nats').kill();
        await rm(cluster.path('data', 'nats'), { recursive: true });
        await writing.some(20);
        await cluster.process('nats').start();
      },
    ],
    ['the stream is purged', () => jetStream('PURGE')],
    ['the stream is deleted', () => jetStream('DELETE')],
    [
      'NATS is restored from an old copy',
      async () => {
        await cluster.process('nats').stop();
        const [data, copy] = [cluster.path('data', 'nats'), cluster.path('data', 'nats-copy')];
        await cp(data, copy, { recursive: true });
        await cluster.process('nats').start();
        await writing.some(20);
        await cluster.process('nats').stop();
        await rm(data, { recursive: true });
        await rename(copy, data);
        await cluster.process('nats').start();
      },
    ],
  ])(
    'the cache equals the union of the shards after this: %s',
    async (_what, happen) => {
      writing.start();
      await writing.some(20);
      await happen();
      await writing.some(20);
      await writing.stop();
      expect(await sameAsShards()).toBeGreaterThan(5);
    },
    240_000,
  );

  test('a purge while nothing is written: the shards publish again, and a cache server that starts then has everything', async () => {
    const objects = await sameAsShards();
    await cluster.process('cache-server').kill();
    await jetStream('PURGE');
    await cluster.process('cache-server').start();
    expect(await sameAsShards()).toBe(objects);
  }, 240_000);
});

/** Who writes, and where. */
interface Writer {
  readonly client: RestClient;
  readonly cluster: LogicalClusterName;
}

/** Writes on all shards: a few names that come, change and go. */
class Load {
  readonly #places: readonly Writer[];
  #abort = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #writes = 0;

  constructor(places: readonly Writer[]) {
    this.#places = places;
  }

  start(): void {
    this.#abort = new AbortController();
    this.#running = Promise.all(this.#places.map((_, index) => this.#run(index, this.#abort.signal)));
  }

  /** Resolves when so many more writes were acknowledged. */
  async some(count: number): Promise<void> {
    const wanted = this.#writes + count;
    await eventually(() => {
      if (this.#writes < wanted) throw new Error(`${wanted - this.#writes} writes are missing`);
    }, patience);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(index: number, signal: AbortSignal): Promise<void> {
    const { client, cluster } = this.#places[index] as Writer;
    for (let i = 0; !signal.aborted; i++) {
      const reference = { cluster, namespace: '', name: `load-${i % 12}` };
      try {
        const labels = { round: String(i) };
        const known = await client.get(apiExports, reference).catch(() => undefined);
        if (known === undefined) {
          await client.create(apiExports, cluster, {
            apiVersion: 'apis.kcp.io/v1alpha2',
            kind: 'APIExport',
            metadata: { name: reference.name, labels },
            spec: {},
          });
        } else if (i % 5 === 4) {
          await client.delete(apiExports, reference);
        } else {
          await client.update(apiExports, cluster, { ...known, metadata: { ...known.metadata, labels } });
        }
        this.#writes++;
      } catch (error) {
        if (error instanceof TypeError) throw error;
        // A shard that is away, or a controller's change: the next one.
        await new Promise((resolve) => {
          setTimeout(resolve, 50);
        });
      }
    }
  }
}
