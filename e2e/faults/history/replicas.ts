import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { cp, readFile, rename, rm } from 'node:fs/promises';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestClient, RestTransport } from '@multiplane/client';
import { eventually, jetStreamApi } from '@multiplane/testing';
import type { ShardedCluster } from '../../harness/sharded-cluster.ts';

const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const apiExports: GroupVersionResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };
const root = 'root' as LogicalClusterName;
const everywhere = '/clusters/*/apis/apis.kcp.io/v1alpha2/apiexports';
export const apiExportSubjects = 'multiplane.cache.*.apis=2Ekcp=2Eio.apiexports.>';
const patience = { timeout: 90_000, interval: 200 };
/** Between two writes of a writer while {@link ReplicatedLoad.some} waits for them. */
const pauseMs = 10;
/** The same otherwise: writes must not take the processors from a server that starts. */
const idlePauseMs = 150;

/**
 * Two shards that publish APIExports under writes, and what their cache has of them. Whatever happens on the way: once writes
 * rest, the cache holds the union of the shards ({@link sameAsShards}).
 */
export class Replicas implements Disposable {
  readonly writing: ReplicatedLoad;
  readonly #cluster: ShardedCluster;
  readonly #cache: RestTransport;
  readonly #shards: readonly RestTransport[];

  private constructor(cluster: ShardedCluster, cache: RestTransport, shards: readonly RestTransport[], place: string) {
    this.#cluster = cluster;
    this.#cache = cache;
    this.#shards = shards;
    this.writing = new ReplicatedLoad([
      { client: new RestClient({ transport: shards[0] as RestTransport }), cluster: root },
      { client: new RestClient({ transport: shards[1] as RestTransport }), cluster: place as LogicalClusterName },
    ]);
  }

  static async open(cluster: ShardedCluster): Promise<Replicas> {
    const file = cluster.path('pki', 'cache.kubeconfig');
    const kubeconfig = readKubeconfig(file);
    const config = clientConfigOf(kubeconfig, file, kubeconfig['current-context'] ?? '');
    const place = await workspaceOnShard1(cluster);
    return new Replicas(cluster, new RestTransport({ config }), cluster.shardTransports(), place);
  }

  /** Waits until the cache has the objects of the shards, in their versions; returns how many. */
  async sameAsShards(): Promise<number> {
    return await eventually(async () => {
      const own = await Promise.all(
        this.#shards.map((shard) => list(shard, everywhere, (meta) => meta.resourceVersion)),
      );
      const replicas = await list(
        this.#cache,
        `/services/cache/shards/*${everywhere}`,
        (meta) => meta.annotations?.['cache.kcp.io/original-resource-version'],
      );
      const wanted = own.flat().toSorted();
      if (!isDeepStrictEqual(replicas, wanted))
        throw new Error(`the cache differs from the shards: ${JSON.stringify(differences(replicas, wanted))}`);
      return replicas.length;
    }, patience);
  }

  /** As an operator with the `nats` command; `filter`: subjects to purge. */
  async jetStream(action: 'PURGE' | 'DELETE', filter?: string): Promise<void> {
    const { port } = this.#cluster.ports.find(({ name }) => name === 'nats') as { port: number };
    const [ca, cert, key] = await Promise.all(
      ['storage-ca.crt', 'storage-client/tls.crt', 'storage-client/tls.key'].map((file) =>
        readFile(this.#cluster.path('pki', file)),
      ),
    );
    const answer = await jetStreamApi(
      { port, tls: { ca, cert, key } },
      `STREAM.${action}.multiplane`,
      filter === undefined ? undefined : { filter },
    );
    // NATS 2.9 may crash when readers recreate the stream at the same moment; it is supervised, and its answer is lost.
    if (answer !== undefined && answer['success'] !== true) throw new Error(`NATS answered ${JSON.stringify(answer)}`);
  }

  [Symbol.dispose](): void {
    for (const transport of [this.#cache, ...this.#shards]) transport.close();
  }
}

/** Faults between the shards and the cache server, by name; each resolves when it is over. */
export const replicationFaults: Readonly<
  Record<
    string,
    {
      readonly description: string;
      readonly inject: (cluster: ShardedCluster, replicas: Replicas) => Promise<void>;
    }
  >
> = {
  'cache-kill': {
    description: 'the cache server is killed',
    inject: async (cluster, { writing }) => {
      await cluster.process('cache-server').kill();
      await writing.some(20);
      await cluster.process('cache-server').start();
    },
  },
  'cache-freeze': {
    description: 'the cache server is frozen',
    inject: async (cluster, { writing }) => {
      await cluster.process('cache-server').freeze();
      await writing.some(60);
      cluster.process('cache-server').thaw();
    },
  },
  'nats-kill': {
    description: 'NATS is killed',
    inject: async (cluster, { writing }) => {
      await cluster.process('nats').kill();
      await writing.some(20);
      await cluster.process('nats').start();
    },
  },
  'nats-freeze': {
    description: 'a shard is killed between its writes and their publication, while NATS is frozen',
    inject: async (cluster, { writing }) => {
      await cluster.process('nats').freeze();
      await writing.some(20);
      await cluster.process('shard-shard-1').kill();
      cluster.process('nats').thaw();
      await cluster.process('shard-shard-1').start();
    },
  },
  'nats-loss': {
    description: 'NATS loses everything',
    inject: async (cluster, { writing }) => {
      await cluster.process('nats').kill();
      await rm(cluster.path('data', 'nats'), { recursive: true });
      await writing.some(20);
      await cluster.process('nats').start();
    },
  },
  'nats-purge': {
    description: 'the stream is purged',
    inject: (_cluster, replicas) => replicas.jetStream('PURGE'),
  },
  'nats-purge-subjects': {
    description: 'the APIExports of all shards are purged from the stream, its watermark is not',
    inject: (_cluster, replicas) => replicas.jetStream('PURGE', apiExportSubjects),
  },
  'nats-delete': {
    description: 'the stream is deleted',
    inject: (_cluster, replicas) => replicas.jetStream('DELETE'),
  },
  'nats-restore': {
    description: 'NATS is restored from an old copy',
    inject: async (cluster, { writing }) => {
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
  },
};

async function workspaceOnShard1(cluster: ShardedCluster): Promise<string> {
  const transport = cluster.transport('root');
  const client = new RestClient({ transport });
  const location = { selector: { matchLabels: { name: 'shard-1' } } };
  const spec = { type: { name: 'universal', path: 'root' }, location };
  const metadata = { name: 'elsewhere' };
  await eventually(
    () => client.create(workspaces, root, { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata, spec }),
    patience,
  );
  const name = await eventually(async () => {
    const workspace = await client.get(workspaces, { cluster: root, namespace: '', name: metadata.name });
    const status = workspace['status'] as { phase?: string } | undefined;
    if (status?.phase !== 'Ready') throw new Error(`the workspace is ${status?.phase}`);
    return (workspace['spec'] as { cluster: string }).cluster;
  }, patience);
  transport.close();
  return name;
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

function differences(found: readonly string[], wanted: readonly string[]): object {
  return {
    missing: wanted.filter((line) => !found.includes(line)),
    further: found.filter((line) => !wanted.includes(line)),
  };
}

/** Who writes, and where. */
interface Writer {
  readonly client: RestClient;
  readonly cluster: LogicalClusterName;
}

/** Writes on all shards: a few names that come, change and go. */
class ReplicatedLoad {
  readonly #places: readonly Writer[];
  #abort = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #writes = 0;
  /** Until then {@link some} waits. */
  #wanted = 0;

  constructor(places: readonly Writer[]) {
    this.#places = places;
  }

  get writes(): number {
    return this.#writes;
  }

  start(): void {
    this.#abort = new AbortController();
    this.#running = Promise.all(this.#places.map((_, index) => this.#run(index, this.#abort.signal)));
  }

  /** Resolves when so many more writes were acknowledged. */
  async some(count: number): Promise<void> {
    const wanted = this.#writes + count;
    this.#wanted = wanted;
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
        await pause(this.#writes < this.#wanted ? pauseMs : idlePauseMs);
      } catch (error) {
        if (error instanceof TypeError) throw error;
        // A shard that is away, or a controller's change: the next one.
        await pause(5 * pauseMs);
      }
    }
  }
}
