import { asLogicalClusterName } from '@multiplane/apimachinery';
import { Reflector, RestTransport, type ClientConfig, type RestClientMetrics } from '@multiplane/client';
import { failureLevel, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import { shardAddress, shards } from './indexed-resources.ts';
import { ShardReflector } from './shard-reflector.ts';
import type { ShardAddress, WorkspaceIndex } from './workspace-index.ts';

export interface IndexControllerOptions {
  /** Timeout without data for single requests to a shard, in milliseconds. */
  readonly idleTimeoutMs: number;
}

export interface IndexControllerModules {
  readonly index: WorkspaceIndex;
  /** Client configuration of the root shard; its logical cluster `root` contains the Shards. */
  readonly rootConfig: () => ClientConfig;
  /** Client configuration of all shards; its server is replaced by the base URL of each shard. */
  readonly shardConfig: () => ClientConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the requests of the index. */
  readonly metrics?: RestClientMetrics | undefined;
}

interface ReflectedShard {
  readonly baseUrl: string;
  readonly reflector: ShardReflector;
}

/**
 * Maintains the index: watches the Shards in `root`, and the LogicalClusters and Workspaces of every shard.
 *
 * If the address of a Shard changes, requests use the new address immediately; the indexed objects are kept until the new
 * address has sent a complete list. Deleted Shards are removed from the index. During a relist of Shards the known ones are
 * kept; those missing from the new list are removed at its end.
 */
export class IndexController implements Runnable {
  readonly name = 'index';
  readonly #options: IndexControllerOptions;
  readonly #modules: IndexControllerModules;
  readonly #shards = new Map<string, ReflectedShard>();
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** Rejects for unexpected errors; failures of servers are retried. */
  readonly ended: Promise<void> = this.#ended.promise;
  #listed: Set<string> | undefined;
  #shardsSynced = false;
  #running: Promise<void> = Promise.resolve();
  #transport: RestTransport | undefined;

  constructor(options: IndexControllerOptions, modules: IndexControllerModules) {
    this.#options = options;
    this.#modules = modules;
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    const { clock, logger, rootConfig, metrics } = this.#modules;
    const transport = new RestTransport({ config: rootConfig, userAgent: 'multiplane-front-proxy', metrics });
    this.#transport = transport;
    const reflector = new Reflector(
      { resource: shards, cluster: asLogicalClusterName('root'), maxPauseMs: 2_000 },
      {
        transport,
        clock,
        onFailure: (error, { failures }) => {
          logger[failureLevel(failures)]('failed to watch shards', { error });
        },
        sink: {
          beginReplace: () => (this.#listed = new Set()),
          upsert: (shard, { name }) => this.#put(name, shardAddress(shard)),
          remove: (_shard, { name }) => this.#remove(name),
          endReplace: () => this.#removeUnlisted(),
        },
      },
    );
    this.#running = reflector.run(this.#abort.signal).catch((error: unknown) => this.#ended.reject(error));
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await Promise.all([this.#running, ...[...this.#shards.values()].map(({ reflector }) => reflector.stop())]);
    this.#transport?.close();
    this.#ended.resolve();
  }

  /**
   * Readiness check: throws until the objects of all shards are indexed. Shards that failed at least once are excepted, so
   * that an unavailable shard does not block the workspaces of the others.
   */
  check(): void {
    if (!this.#shardsSynced) throw new Error('shards are not synced');
    const pending = this.#modules.index.unsyncedShards.filter(
      (name) => this.#shards.get(name)?.reflector.hasFailed !== true,
    );
    if (pending.length > 0) throw new Error(`shards are not synced: ${pending.join(', ')}`);
  }

  /** True while a workspace that is not in the index may exist. */
  get isIncomplete(): boolean {
    return !this.#shardsSynced || this.#modules.index.unsyncedShards.length > 0;
  }

  /** A privileged transport to a shard; undefined for an unknown shard. */
  transportOf(shard: string | undefined): RestTransport | undefined {
    return shard === undefined ? undefined : this.#shards.get(shard)?.reflector.transport;
  }

  #put(name: string, address: ShardAddress | undefined): void {
    this.#listed?.add(name);
    if (address === undefined) {
      this.#modules.logger.warn('ignoring a Shard without a base URL', { shard: name });
      this.#remove(name);
      return;
    }
    const { index, shardConfig, clock, logger, metrics } = this.#modules;
    index.setShard(name, address);
    const known = this.#shards.get(name);
    const baseUrl = address.baseUrl.href;
    if (known?.baseUrl === baseUrl) return;
    void known?.reflector.stop();
    const onUnexpectedError = (error: unknown): void => this.#ended.reject(error);
    const reflector = new ShardReflector(
      { shard: name, baseUrl: address.baseUrl, idleTimeoutMs: this.#options.idleTimeoutMs },
      { index, config: shardConfig, clock, logger, metrics, onUnexpectedError },
    );
    this.#shards.set(name, { baseUrl, reflector });
    logger.info('watching a shard', { shard: name, url: baseUrl });
  }

  #remove(name: string): void {
    void this.#shards.get(name)?.reflector.stop();
    this.#shards.delete(name);
    this.#modules.index.removeShard(name);
  }

  #removeUnlisted(): void {
    for (const name of this.#shards.keys()) if (this.#listed?.has(name) === false) this.#remove(name);
    this.#listed = undefined;
    this.#shardsSynced = true;
  }
}
