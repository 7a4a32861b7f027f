import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '@multiplane/controllers';

interface Modules {
  readonly informers: InformerSource;
  readonly clock: Clock;
}

type Condition = (object: DeepReadonly<LogicalCluster>) => boolean;
/** Gets the changed object; undefined after its deletion. */
type Listener = (object: DeepReadonly<LogicalCluster> | undefined) => void;

/** Lets requests wait until a logical cluster of this shard meets a condition. */
export class LogicalClusterWaiter {
  readonly #modules: Modules;
  readonly #listeners = new Map<LogicalClusterName, Set<Listener>>();

  constructor(modules: Modules) {
    this.#modules = modules;
    const notify = (cluster: LogicalClusterName, object: DeepReadonly<LogicalCluster> | undefined): void => {
      for (const listener of this.#listeners.get(cluster) ?? []) listener(object);
    };
    modules.informers.informer<LogicalCluster>(logicalClusters).addHandlers({
      added: (object, { cluster }) => notify(cluster, object),
      updated: (object, _old, { cluster }) => notify(cluster, object),
      deleted: (_old, { cluster }) => notify(cluster, undefined),
      onlyInvalidates: true,
    });
  }

  /** Resolves with the object once it meets the condition; with undefined on deletion, after `ms`, or when the signal aborts. */
  async until(
    cluster: LogicalClusterName,
    isMet: Condition,
    ms: number,
    signal?: AbortSignal,
  ): Promise<DeepReadonly<LogicalCluster> | undefined> {
    const { informers, clock } = this.#modules;
    const current = informers
      .informer<LogicalCluster>(logicalClusters)
      .get({ cluster, namespace: '', name: logicalClusterObjectName });
    if (current !== undefined && isMet(current)) return current;
    if (signal?.aborted === true) return undefined;
    const { promise, resolve } = Promise.withResolvers<DeepReadonly<LogicalCluster> | undefined>();
    const listener: Listener = (object) => {
      if (object === undefined || isMet(object)) resolve(object);
    };
    const cancel = (): void => resolve(undefined);
    const listeners = this.#listeners.get(cluster) ?? new Set();
    this.#listeners.set(cluster, listeners.add(listener));
    const timer = clock.after(ms, cancel);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', cancel);
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(cluster);
    }
  }
}
