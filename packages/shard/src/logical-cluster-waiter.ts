import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '@multiplane/controllers';

interface Modules {
  readonly informers: InformerSource;
  readonly clock: Clock;
}

type Wanted = (object: DeepReadonly<LogicalCluster>) => boolean;
type Told = (object: DeepReadonly<LogicalCluster> | undefined) => void;

/** Requests that wait for what becomes of a logical cluster of this shard. */
export class LogicalClusterWaits {
  readonly #modules: Modules;
  readonly #waiting = new Map<LogicalClusterName, Set<Told>>();

  constructor(modules: Modules) {
    this.#modules = modules;
    const tell = (cluster: LogicalClusterName, object: DeepReadonly<LogicalCluster> | undefined): void => {
      for (const told of this.#waiting.get(cluster) ?? []) told(object);
    };
    modules.informers.informer<LogicalCluster>(logicalClusters).addHandlers({
      added: (object, { cluster }) => tell(cluster, object),
      updated: (object, _old, { cluster }) => tell(cluster, object),
      deleted: (_old, { cluster }) => tell(cluster, undefined),
      onlyForgets: true,
    });
  }

  /** The object as soon as it is what is wanted; undefined when it goes, takes longer than `ms`, or the signal aborts. */
  async until(
    cluster: LogicalClusterName,
    isWanted: Wanted,
    ms: number,
    signal?: AbortSignal,
  ): Promise<DeepReadonly<LogicalCluster> | undefined> {
    const { informers, clock } = this.#modules;
    const known = informers
      .informer<LogicalCluster>(logicalClusters)
      .get({ cluster, namespace: '', name: logicalClusterObjectName });
    if (known !== undefined && isWanted(known)) return known;
    if (signal?.aborted === true) return undefined;
    const { promise, resolve } = Promise.withResolvers<DeepReadonly<LogicalCluster> | undefined>();
    const told: Told = (object) => {
      if (object === undefined || isWanted(object)) resolve(object);
    };
    const giveUp = (): void => resolve(undefined);
    const waiting = this.#waiting.get(cluster) ?? new Set();
    this.#waiting.set(cluster, waiting.add(told));
    const timer = clock.after(ms, giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', giveUp);
      waiting.delete(told);
      if (waiting.size === 0) this.#waiting.delete(cluster);
    }
  }
}
