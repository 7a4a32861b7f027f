import { asLogicalClusterName } from '@multiplane/apimachinery';
import { Reflector, RestTransport, type ClientConfig } from '@multiplane/client';
import { failureLevel, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import { shardAddress, shards } from './kinds.ts';
import { ShardFollower } from './shard-follower.ts';
import type { ShardAddress, WorkspaceIndex } from './workspace-index.ts';

export interface IndexFeederModules {
  readonly index: WorkspaceIndex;
  /** Reaches the root shard, whose logical cluster `root` has the Shards. */
  readonly rootConfig: () => ClientConfig;
  /** Reaches every shard; its server is replaced by the shard's base URL. */
  readonly shardConfig: () => ClientConfig;
  /** How long a shard may be silent that is asked for one object. */
  readonly silenceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Followed {
  readonly baseUrl: string;
  readonly follower: ShardFollower;
}

/**
 * Keeps the index up to date: follows the Shards in `root`, and every shard they name.
 *
 * A Shard that moved is followed at its new address; what is known of it stays until the new address told its state, and
 * requests go to the new address at once. A Shard that is gone is forgotten. While Shards are listed anew the known ones
 * stay, and those that the new list lacks go at its end.
 */
export class IndexFeeder implements Runnable {
  readonly name = 'index';
  readonly #modules: IndexFeederModules;
  readonly #followed = new Map<string, Followed>();
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** Rejects with a fault of this program; a failing server is no fault. */
  readonly ended: Promise<void> = this.#ended.promise;
  #listed: Set<string> | undefined;
  #shardsKnown = false;
  #running: Promise<void> = Promise.resolve();
  #transport: RestTransport | undefined;

  constructor(modules: IndexFeederModules) {
    this.#modules = modules;
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    const { clock, logger, rootConfig } = this.#modules;
    const transport = new RestTransport({ config: rootConfig, userAgent: 'multiplane-front-proxy' });
    this.#transport = transport;
    const reflector = new Reflector(
      { resource: shards, cluster: asLogicalClusterName('root'), maxPauseMs: 2_000 },
      {
        transport,
        clock,
        onFailure: (error, { failures }) => {
          logger[failureLevel(failures)]('following the shards failed', { error });
        },
        sink: {
          replacing: () => (this.#listed = new Set()),
          put: (shard, { name }) => this.#put(name, shardAddress(shard)),
          removed: (_shard, { name }) => this.#remove(name),
          replaced: () => this.#sweep(),
        },
      },
    );
    this.#running = reflector.run(this.#abort.signal).catch((error: unknown) => this.#ended.reject(error));
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await Promise.all([this.#running, ...[...this.#followed.values()].map(({ follower }) => follower.stop())]);
    this.#transport?.close();
    this.#ended.resolve();
  }

  /**
   * For readiness: throws while the state of a shard is not known. A shard that was asked in vain counts as known: its
   * workspaces cannot be served anyway, and those of the others can.
   */
  check(): void {
    if (!this.#shardsKnown) throw new Error('the shards are not known yet');
    const waiting = this.#modules.index.unknownShards.filter(
      (name) => this.#followed.get(name)?.follower.triedInVain !== true,
    );
    if (waiting.length > 0) throw new Error(`the state of these shards is not known yet: ${waiting.join(', ')}`);
  }

  /** True when a workspace that is not found may exist all the same. */
  get isIncomplete(): boolean {
    return !this.#shardsKnown || this.#modules.index.unknownShards.length > 0;
  }

  /** To a shard, with every right; undefined for one that is not known. */
  transportOf(shard: string | undefined): RestTransport | undefined {
    return shard === undefined ? undefined : this.#followed.get(shard)?.follower.transport;
  }

  #put(name: string, address: ShardAddress | undefined): void {
    this.#listed?.add(name);
    if (address === undefined) {
      this.#modules.logger.warn('a Shard does not say where it is', { shard: name });
      this.#remove(name);
      return;
    }
    const { index, shardConfig, silenceMs, clock, logger } = this.#modules;
    index.setShard(name, address);
    const known = this.#followed.get(name);
    const baseUrl = address.baseUrl.href;
    if (known?.baseUrl === baseUrl) return;
    void known?.follower.stop();
    const onFault = (error: unknown): void => this.#ended.reject(error);
    const follower = new ShardFollower(
      { shard: name, baseUrl: address.baseUrl, silenceMs },
      { index, config: shardConfig, clock, logger, onFault },
    );
    this.#followed.set(name, { baseUrl, follower });
    logger.info('following a shard', { shard: name, url: baseUrl });
  }

  #remove(name: string): void {
    void this.#followed.get(name)?.follower.stop();
    this.#followed.delete(name);
    this.#modules.index.removeShard(name);
  }

  #sweep(): void {
    for (const name of this.#followed.keys()) if (this.#listed?.has(name) === false) this.#remove(name);
    this.#listed = undefined;
    this.#shardsKnown = true;
  }
}
