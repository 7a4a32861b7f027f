import { isStatusError, type DeepReadonly, type JsonObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Lister, ObjectClient, ObjectReference } from '@multiplane/client';
import {
  logicalClusterObjectName,
  logicalClusters,
  type LogicalCluster,
  type LogicalClusterAccess,
} from '@multiplane/controllers';
import type { ShardClients } from './shard-clients.ts';

const at = (cluster: LogicalClusterName): ObjectReference => ({
  cluster,
  namespace: '',
  name: logicalClusterObjectName,
});

/** How long another shard delays its response to wait for the outcome of a new logical cluster. */
const waitSeconds = 5;

interface Modules {
  readonly clients: ShardClients;
  readonly local: ObjectClient;
  readonly lister: Lister<LogicalCluster>;
  /** Resolves when {@link lister} reflects every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
}

/**
 * Access to LogicalClusters on any shard. Local ones are accessed in process. Remote ones are created and annotated at the base
 * URL of their shard, and read and deleted through the front-proxy, which knows their current shard. If the front-proxy fails or does not
 * find one, the shard is asked directly; only its NotFound is authoritative.
 */
export class ShardedLogicalClusters implements LogicalClusterAccess {
  readonly #shardName: string;
  readonly #modules: Modules;
  constructor(options: { readonly shardName: string }, modules: Modules) {
    this.#shardName = options.shardName;
    this.#modules = modules;
  }

  isLocal(shard: string): boolean {
    return shard === this.#shardName;
  }

  cached(shard: string, cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined {
    return this.isLocal(shard) ? this.#modules.lister.get(at(cluster)) : undefined;
  }

  async get(shard: string, cluster: LogicalClusterName): Promise<DeepReadonly<LogicalCluster> | undefined> {
    const { lister, fresh, clients } = this.#modules;
    if (this.isLocal(shard)) {
      // A miss may be a stale read: wait until the lister is current.
      const known = lister.get(at(cluster));
      if (known !== undefined) return known;
      await fresh();
      return lister.get(at(cluster));
    }
    const { external } = clients;
    if (external !== undefined) {
      try {
        return await external.get(logicalClusters, at(cluster));
      } catch {
        // The front-proxy may be down, or not know the logical cluster yet: ask the shard.
      }
    }
    return getIfPresent(clients.admin(shard), cluster);
  }

  async create(shard: string, cluster: LogicalClusterName, object: LogicalCluster): Promise<LogicalCluster> {
    return await this.#modules.clients.admin(shard).create(logicalClusters, cluster, object, { waitSeconds });
  }

  async delete(shard: string, cluster: LogicalClusterName): Promise<void> {
    const { local, clients } = this.#modules;
    if (this.isLocal(shard)) return local.delete(logicalClusters, at(cluster));
    const { external } = clients;
    if (external !== undefined) {
      try {
        return await external.delete(logicalClusters, at(cluster));
      } catch {
        // As above; if it was deleted meanwhile, the shard returns NotFound.
      }
    }
    return clients.admin(shard).delete(logicalClusters, at(cluster));
  }

  async annotate(shard: string, cluster: LogicalClusterName, patch: JsonObject): Promise<void> {
    const { local, clients } = this.#modules;
    const write = async (client: ObjectClient): Promise<void> => {
      const type = 'application/merge-patch+json';
      await client.patch(logicalClusters, at(cluster), type, patch, { discardResult: true });
    };
    if (this.isLocal(shard)) return write(local);
    try {
      return await write(clients.admin(shard));
    } catch (error) {
      // It may have moved to a shard that only the front-proxy knows.
      if (clients.external === undefined) throw error;
      return write(clients.external);
    }
  }
}

async function getIfPresent(client: ObjectClient, cluster: LogicalClusterName): Promise<LogicalCluster | undefined> {
  try {
    return await client.get(logicalClusters, at(cluster));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
