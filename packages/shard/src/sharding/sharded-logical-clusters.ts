import { isStatusError, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
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

/** How long a shard may take to say what became of a new logical cluster; after that it is asked. */
const waitSeconds = 5;

interface Modules {
  readonly clients: ShardClients;
  readonly local: ObjectClient;
  readonly lister: Lister<LogicalCluster>;
  /** Resolves when {@link lister} shows every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
}

/**
 * LogicalClusters wherever they are (C5.1): on this shard in process; elsewhere made at the shard's own URL, and read and
 * deleted by way of the front-proxy, which knows where they really are. When that does not know them, or is away, the
 * shard itself is asked: only its word counts for one that is not there.
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

  known(shard: string, cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined {
    return this.isLocal(shard) ? this.#modules.lister.get(at(cluster)) : undefined;
  }

  async get(shard: string, cluster: LogicalClusterName): Promise<DeepReadonly<LogicalCluster> | undefined> {
    const { lister, fresh, clients } = this.#modules;
    if (this.isLocal(shard)) {
      // The lister may be a moment behind: what it does not show yet is waited for.
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
        // A proxy may not have heard of it yet, or be away: the shard tells, or fails in its turn.
      }
    }
    return present(clients.admin(shard), cluster);
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
        // As above; what is gone by now is not found there either.
      }
    }
    return clients.admin(shard).delete(logicalClusters, at(cluster));
  }
}

async function present(client: ObjectClient, cluster: LogicalClusterName): Promise<LogicalCluster | undefined> {
  try {
    return await client.get(logicalClusters, at(cluster));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
