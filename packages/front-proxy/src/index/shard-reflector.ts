import type { KubeObject } from '@multiplane/apimachinery';
import {
  Reflector,
  RestTransport,
  type ClientConfig,
  type ReflectedReference,
  type RestClientMetrics,
} from '@multiplane/client';
import { failureLevel, type Clock, type Logger } from '@multiplane/component-base';
import { logicalClusters, typeOf, workspaceEntry, workspaces } from './indexed-resources.ts';
import type { WorkspaceIndex } from './workspace-index.ts';

export interface ShardReflectorModules {
  readonly index: WorkspaceIndex;
  /** Client configuration of all shards; its server is replaced by `baseUrl`. */
  readonly config: () => ClientConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: RestClientMetrics | undefined;
}

/** Maximum backoff between retries; the index may lag for this long after a shard has recovered. */
const maxPauseMs = 2_000;

/**
 * Lists and watches all LogicalClusters and Workspaces of one shard and passes the indexed fields to the index. It does not
 * store objects.
 */
export class ShardReflector {
  readonly #shard: string;
  readonly #modules: ShardReflectorModules;
  readonly #abort = new AbortController();
  readonly transport: RestTransport;
  readonly #running: Promise<void>;
  #hasFailed = false;

  /** `onUnexpectedError` receives errors other than failures of the shard, which are retried. */
  constructor(
    options: { readonly shard: string; readonly baseUrl: URL; readonly idleTimeoutMs: number },
    modules: ShardReflectorModules & { readonly onUnexpectedError: (error: unknown) => void },
  ) {
    this.#shard = options.shard;
    this.#modules = modules;
    // The transport compares configurations by identity, so the derived one is cached.
    let config: { readonly from: ClientConfig; readonly own: ClientConfig } | undefined;
    this.transport = new RestTransport({
      config: () => {
        const from = modules.config();
        if (config?.from !== from) config = { from, own: { ...from, server: options.baseUrl.href } };
        return config.own;
      },
      userAgent: 'multiplane-front-proxy',
      idleTimeoutMs: options.idleTimeoutMs,
      metrics: modules.metrics,
    });
    const { index } = modules;
    const { shard } = options;
    const clusters = this.#reflector(logicalClusters, {
      beginReplace: () => index.replaceClusters(shard),
      upsert: (object, { cluster }) => index.putCluster(shard, cluster, typeOf(object)),
      remove: (_object, { cluster }) => index.removeCluster(shard, cluster),
      endReplace: () => index.clustersReplaced(shard),
    });
    const all = this.#reflector(workspaces, {
      beginReplace: () => index.replaceWorkspaces(shard),
      upsert: (object, { cluster }) => index.putWorkspace(shard, workspaceEntry(object, cluster)),
      remove: (_object, { cluster, name }) => index.removeWorkspace(shard, cluster, name),
      endReplace: () => index.workspacesReplaced(shard),
    });
    this.#running = Promise.all([clusters.run(this.#abort.signal), all.run(this.#abort.signal)]).then(
      () => undefined,
      modules.onUnexpectedError,
    );
  }

  /** True if a list or watch of the shard failed at least once. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
    this.transport.close();
  }

  #reflector(
    resource: typeof workspaces,
    sink: {
      beginReplace(): void;
      upsert(object: KubeObject, reference: ReflectedReference): void;
      remove(object: KubeObject, reference: ReflectedReference): void;
      endReplace(): void;
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
          this.#hasFailed = true;
          logger[failureLevel(failures)]('failed to watch a shard', {
            shard: this.#shard,
            resource: resource.resource,
            error,
          });
        },
      },
    );
  }
}
