import { labelsOf } from '@multiplane/apiserver';
import { timeSlices } from '@multiplane/component-base';
import type { ScopedObjects } from '@multiplane/controllers';
import { customResourcePrefix, type WatchCache } from '@multiplane/storage';

/** Counts objects by label in the watch cache, in time slices, by the labels that it keeps beside each object. */
export class CachedScopedObjects implements ScopedObjects {
  readonly #cache: Pick<WatchCache, 'freshRevision' | 'snapshot'>;

  constructor(modules: { readonly cache: Pick<WatchCache, 'freshRevision' | 'snapshot'> }) {
    this.#cache = modules.cache;
  }

  async countByLabel({
    identityHash,
    key,
    resources,
  }: Parameters<ScopedObjects['countByLabel']>[0]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const slices = timeSlices();
    await this.#cache.freshRevision();
    for (const { group, resource } of resources) {
      const prefix = customResourcePrefix(group, resource, identityHash);
      for (const entry of this.#cache.snapshot(prefix).entries(undefined, Number.POSITIVE_INFINITY)) {
        const value = labelsOf(entry)[key] ?? '';
        if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
        if (slices.isExceeded) await slices.yield();
      }
    }
    return counts;
  }
}
