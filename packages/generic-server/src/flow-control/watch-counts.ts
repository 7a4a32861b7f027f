import type { RequestInfo } from '../request/request-info.ts';

/**
 * Counts the running watches by resource, logical cluster and namespace, to estimate the events that a write causes. Watches
 * over all logical clusters or namespaces count for each of them.
 */
export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** A watch starts; the result ends it, once. */
  start(info: RequestInfo): () => void {
    const key = keyOf(info, info.cluster ?? '', info.namespace);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }

  /** Watches that receive the event of a write. */
  of(info: RequestInfo): number {
    const counts = this.#counts;
    if (counts.size === 0) return 0;
    const cluster = info.cluster ?? '';
    let watches = (counts.get(keyOf(info, cluster, '')) ?? 0) + (counts.get(keyOf(info, '*', '')) ?? 0);
    if (info.namespace !== '') watches += counts.get(keyOf(info, cluster, info.namespace)) ?? 0;
    return watches;
  }
}

const keyOf = ({ group, resource }: RequestInfo, cluster: string, namespace: string): string =>
  `${cluster} ${group}/${resource} ${namespace}`;
