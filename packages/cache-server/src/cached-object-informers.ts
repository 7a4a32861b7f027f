import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { CacheSubscription, type ObjectReader } from '@multiplane/apiserver';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '@multiplane/client';
import {
  cacheKey,
  cacheResourcePrefix,
  hasObjectKey,
  parseCacheKey,
  type CacheEntry,
  type WatchCache,
} from '@multiplane/storage';

export interface CachedObjectInformersModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
}

/**
 * Informers over the cached objects of all shards for readers in the same process. They read the watch cache directly,
 * without a copy.
 */
export class CachedObjectInformers implements InformerSource {
  readonly #modules: CachedObjectInformersModules;
  readonly #informers = new Map<string, CachedObjectInformer>();

  constructor(modules: CachedObjectInformersModules) {
    this.#modules = modules;
  }

  informer<T extends KubeObject = KubeObject>({ group, resource }: GroupVersionResource): Informer<T> {
    const key = `${group}/${resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new CachedObjectInformer({ group, resource }, this.#modules);
      this.#informers.set(key, informer);
    }
    return informer as unknown as Informer<T>;
  }
}

/**
 * The cached objects of one kind. An object reference names no shard, and a logical cluster lives on one, so the shards
 * with objects of the kind are tried in turn. If two have it (during a migration), the first by name wins.
 */
class CachedObjectInformer implements Informer {
  readonly #kind: { readonly group: string; readonly resource: string };
  readonly #prefix: string;
  readonly #modules: CachedObjectInformersModules;
  /** Number of cached objects by shard; undefined until first used. */
  #shards: Map<string, number> | undefined;

  constructor(kind: { readonly group: string; readonly resource: string }, modules: CachedObjectInformersModules) {
    this.#kind = kind;
    this.#prefix = cacheResourcePrefix(kind, '*');
    this.#modules = modules;
  }

  get synced(): Promise<void> {
    return this.#modules.cache.ready;
  }

  get(reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    if (!hasObjectKey(reference)) return undefined;
    for (const shard of this.#shardNames()) {
      const entry = this.#modules.cache.peek(cacheKey(this.#kind, { ...reference, shard }));
      if (entry !== undefined) return this.#object(entry);
    }
    return undefined;
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<KubeObject>[] {
    const { cluster, namespace } = scope;
    const prefixes =
      cluster === undefined
        ? [this.#prefix]
        : this.#shardNames().map((shard) => `${cacheResourcePrefix(this.#kind, shard)}${cluster}/`);
    const objects: DeepReadonly<KubeObject>[] = [];
    for (const prefix of prefixes) {
      for (const entry of this.#modules.cache.snapshot(prefix).entries(undefined, Number.POSITIVE_INFINITY)) {
        if (namespace === undefined || parseCacheKey(entry.key)?.namespace === namespace)
          objects.push(this.#object(entry));
      }
    }
    return objects;
  }

  addHandlers(handlers: InformerHandlers): () => void {
    const subscription = new CacheSubscription(
      { scope: this.#prefix },
      {
        cache: this.#modules.cache,
        handler: {
          changed: (current, previous) => {
            const reference = parseCacheKey(current.key);
            if (reference === undefined) return;
            if (previous === undefined) handlers.added?.(this.#object(current), reference);
            else handlers.updated?.(this.#object(current), this.#object(previous), reference);
          },
          removed: (previous) => {
            const reference = parseCacheKey(previous.key);
            if (reference !== undefined) handlers.deleted?.(this.#object(previous), reference);
          },
        },
      },
    );
    let stopped = false;
    void subscription.synced.then(
      () => {
        if (!stopped) handlers.synced?.();
      },
      // The cache was closed before it was loaded; there is nothing to report.
      () => undefined,
    );
    return () => {
      stopped = true;
      subscription.stop();
    };
  }

  /** Shard names in order. Follows the watch cache from the first call on; resets when the subscription ends. */
  #shardNames(): string[] {
    if (this.#shards === undefined) {
      if (!this.#modules.cache.isReady()) return [];
      this.#shards = this.#countByShard();
    }
    return [...this.#shards.keys()];
  }

  #countByShard(): Map<string, number> {
    const { cache } = this.#modules;
    const counts = new Map<string, number>();
    const snapshot = cache.snapshot(this.#prefix);
    const count = (key: string, by: number): void => {
      const shard = parseCacheKey(key)?.shard;
      if (shard === undefined) return;
      const now = (counts.get(shard) ?? 0) + by;
      const isNew = !counts.has(shard);
      if (now === 0) counts.delete(shard);
      else counts.set(shard, now);
      if (isNew) sortInPlace(counts);
    };
    for (const { key } of snapshot.entries(undefined, Number.POSITIVE_INFINITY)) count(key, 1);
    cache.subscribe({
      scope: this.#prefix,
      after: snapshot.revision,
      onEvent: ({ current, previous }) => {
        if (current === undefined && previous !== undefined) count(previous.key, -1);
        if (previous === undefined && current !== undefined) count(current.key, 1);
      },
      onEnd: () => {
        this.#shards = undefined;
      },
    });
    return counts;
  }

  #object(entry: CacheEntry): DeepReadonly<KubeObject> {
    return this.#modules.reader.stored(entry);
  }
}

function sortInPlace(counts: Map<string, number>): void {
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  counts.clear();
  for (const [shard, number] of sorted) counts.set(shard, number);
}
