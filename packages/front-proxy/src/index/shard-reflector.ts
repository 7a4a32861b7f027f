import type { KubeObject } from '@multiplane/apimachinery';
import { Reflector, RestTransport, type ClientConfig, type ReflectedReference } from '@multiplane/client';
import { failureLevel, type Clock, type Logger } from '@multiplane/component-base';
import { logicalClusters, typeOf, workspaceEntry, workspaces } from './kinds.ts';
import type { WorkspaceIndex } from './workspace-index.ts';

export interface ShardFollowerModules {
  readonly index: WorkspaceIndex;
  /** TLS material for shards; its server is replaced. */
  readonly config: () => ClientConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Longest time between two tries to follow a shard: it is how long the index lags when the shard is back. */
const maxPauseMs = 2_000;

/**
 * Tells the index what one shard has, by list and watch of all its LogicalClusters and Workspaces. Nothing is kept here:
 * an object is parsed, the few bytes that matter go into the index, and the rest is garbage.
 */
export class ShardFollower {
  readonly #shard: string;
  readonly #modules: ShardFollowerModules;
  readonly #abort = new AbortController();
  readonly transport: RestTransport;
  readonly #running: Promise<void>;
  #tried = false;

  /** `onFault` gets what can only be a fault of this program. */
  constructor(
    options: { readonly shard: string; readonly baseUrl: URL; readonly silenceMs: number },
    modules: ShardFollowerModules & { readonly onFault: (error: unknown) => void },
  ) {
    this.#shard = options.shard;
    this.#modules = modules;
    // The transport takes another object for another configuration.
    let config: { readonly from: ClientConfig; readonly own: ClientConfig } | undefined;
    this.transport = new RestTransport({
      config: () => {
        const from = modules.config();
        if (config?.from !== from) config = { from, own: { ...from, server: options.baseUrl.href } };
        return config.own;
      },
      userAgent: 'multiplane-front-proxy',
      silenceMs: options.silenceMs,
    });
    const { index } = modules;
    const { shard } = options;
    const clusters = this.#reflector(logicalClusters, {
      replacing: () => index.replaceClusters(shard),
      put: (object, { cluster }) => index.putCluster(shard, cluster, typeOf(object)),
      removed: (_object, { cluster }) => index.removeCluster(shard, cluster),
      replaced: () => index.clustersReplaced(shard),
    });
    const all = this.#reflector(workspaces, {
      replacing: () => index.replaceWorkspaces(shard),
      put: (object, { cluster }) => index.putWorkspace(shard, workspaceEntry(object, cluster)),
      removed: (_object, { cluster, name }) => index.removeWorkspace(shard, cluster, name),
      replaced: () => index.workspacesReplaced(shard),
    });
    this.#running = Promise.all([clusters.run(this.#abort.signal), all.run(this.#abort.signal)]).then(
      () => undefined,
      modules.onFault,
    );
  }

  /** The shard was asked at least once and did not answer. */
  get triedInVain(): boolean {
    return this.#tried;
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
    this.transport.close();
  }

  #reflector(
    resource: typeof workspaces,
    sink: {
      replacing(): void;
      put(object: KubeObject, reference: ReflectedReference): void;
      removed(object: KubeObject, reference: ReflectedReference): void;
      replaced(): void;
    },
  ): Reflector {
    const { clock, logger } = this.#modules;
    return new Reflector(
      { resource, maxPauseMs },
      {
        transport: this.transport,
        clock,
        sink,
        onFailure: (error, { failures }) => {
          this.#tried = true;
          logger[failureLevel(failures)]('following a shard failed', {
            shard: this.#shard,
            resource: resource.resource,
            error,
          });
        },
      },
    );
  }
}
