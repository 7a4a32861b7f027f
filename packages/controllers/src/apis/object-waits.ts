import type { LogicalClusterName } from '@multiplane/apimachinery';
import { lockName } from '@multiplane/apis';
import type { MetadataInformer } from '@multiplane/client';

/**
 * Who waits for objects of a resource in a logical cluster to go. Costs nothing while nobody waits, and nothing but the
 * look-up of one name when an object goes.
 */
export class ObjectWaits {
  readonly #keys = new Map<string, Set<string>>();
  readonly #places = new Map<string, readonly string[]>();

  constructor(modules: {
    readonly metadata: MetadataInformer;
    /** Brings a key back. */
    readonly again: (key: string) => void;
  }) {
    modules.metadata.addHandlers({
      changed: () => {},
      deleted: ({ cluster, resource }) => {
        if (this.#keys.size === 0) return;
        for (const key of this.#keys.get(placeOf(cluster, lockName(resource))) ?? []) modules.again(key);
      },
    });
  }

  /** From now on a key waits for resources by these names ({@link lockName}), and for no others. */
  set(key: string, cluster: LogicalClusterName, names: Iterable<string>): void {
    this.forget(key);
    const places = Array.from(names, (name) => placeOf(cluster, name));
    if (places.length === 0) return;
    this.#places.set(key, places);
    for (const place of places) this.#keys.set(place, (this.#keys.get(place) ?? new Set()).add(key));
  }

  forget(key: string): void {
    for (const place of this.#places.get(key) ?? []) {
      const keys = this.#keys.get(place);
      if (keys?.delete(key) === true && keys.size === 0) this.#keys.delete(place);
    }
    this.#places.delete(key);
  }
}

const placeOf = (cluster: LogicalClusterName, name: string): string => `${cluster}|${name}`;
