import { storedValueOf } from '@multiplane/apiserver';
import { timeSlices } from '@multiplane/component-base';
import type { ScopedObjects } from '@multiplane/controllers';
import { customResourcePrefix, type WatchCache } from '@multiplane/storage';

type ScopedCache = Pick<WatchCache, 'freshRevision' | 'snapshot' | 'indexes'>;

/**
 * Counts objects by a label or a field in the watch cache. Where it has an index by the key, that is one look-up per value; else,
 * before the first scope of a key is in force or while the index is built, one pass over the stored bytes in time slices.
 */
export class CachedScopedObjects implements ScopedObjects {
  readonly #cache: ScopedCache;

  constructor(modules: { readonly cache: ScopedCache }) {
    this.#cache = modules.cache;
  }

  async countByValue({
    identityHash,
    key,
    resources,
  }: Parameters<ScopedObjects['countByValue']>[0]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const slices = timeSlices();
    await this.#cache.freshRevision();
    for (const { group, resource } of resources) {
      const prefix = customResourcePrefix(group, resource, identityHash);
      const index = this.#cache.indexes?.find(prefix, key);
      if (index?.isBuilt === true) {
        for (const value of index.values()) add(counts, value, index.count(value, prefix) ?? 0);
        continue;
      }
      for (const entry of this.#cache.snapshot(prefix).entries(undefined, Number.POSITIVE_INFINITY)) {
        add(counts, storedValueOf(entry, key) ?? '', 1);
        if (slices.isExceeded) await slices.yield();
      }
    }
    return counts;
  }
}

function add(counts: Map<string, number>, value: string, count: number): void {
  if (value !== '' && count > 0) counts.set(value, (counts.get(value) ?? 0) + count);
}
