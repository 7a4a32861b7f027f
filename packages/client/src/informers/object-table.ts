import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '../lister.ts';
import type { ReflectedReference } from '../reflector/reflector.ts';

export interface TableEntry<T extends KubeObject> {
  readonly reference: ReflectedReference;
  readonly object: DeepReadonly<T>;
}

const placeOf = (namespace: string, name: string, shard: string): string => `${namespace}/${name}/${shard}`;

/**
 * Objects by logical cluster, then by place. One object may come from two shards for a while (a logical cluster that
 * moves), so the shard is a part of the key; readers who name none get the copy of the shard that was known first.
 */
export class ObjectTable<T extends KubeObject> {
  readonly #clusters = new Map<LogicalClusterName, Map<string, TableEntry<T>>>();
  readonly #shards = new Set<string>();

  get({ cluster, namespace, name }: ObjectReference): TableEntry<T> | undefined {
    const entries = this.#clusters.get(cluster);
    if (entries === undefined) return undefined;
    for (const shard of this.#shards) {
      const entry = entries.get(placeOf(namespace, name, shard));
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Puts an entry; returns the one that stood in its place. */
  set(entry: TableEntry<T>): TableEntry<T> | undefined {
    const { cluster, namespace, name, shard } = entry.reference;
    let entries = this.#clusters.get(cluster);
    if (entries === undefined) {
      entries = new Map();
      this.#clusters.set(cluster, entries);
    }
    this.#shards.add(shard);
    const place = placeOf(namespace, name, shard);
    const previous = entries.get(place);
    entries.set(place, entry);
    return previous;
  }

  delete({ cluster, namespace, name, shard }: ReflectedReference): TableEntry<T> | undefined {
    const entries = this.#clusters.get(cluster);
    const place = placeOf(namespace, name, shard);
    const previous = entries?.get(place);
    if (entries === undefined || previous === undefined) return undefined;
    entries.delete(place);
    if (entries.size === 0) this.#clusters.delete(cluster);
    return previous;
  }

  /** The entry at exactly this place. */
  at(reference: ReflectedReference): TableEntry<T> | undefined {
    const { cluster, namespace, name, shard } = reference;
    return this.#clusters.get(cluster)?.get(placeOf(namespace, name, shard));
  }

  /** All entries, or those of one logical cluster, in no particular order. */
  *entries(cluster?: LogicalClusterName): Generator<TableEntry<T>, void, undefined> {
    if (cluster !== undefined) {
      yield* this.#clusters.get(cluster)?.values() ?? [];
      return;
    }
    for (const entries of this.#clusters.values()) yield* entries.values();
  }
}
