import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '../lister.ts';
import type { ReflectedReference } from '../reflector/reflector.ts';

export interface TableEntry<T extends KubeObject> {
  readonly reference: ReflectedReference;
  readonly object: DeepReadonly<T>;
}

const keyOf = (namespace: string, name: string, shard: string): string => `${namespace}/${name}/${shard}`;

/**
 * Objects by logical cluster, then by namespace, name and shard. Two shards may serve the same object while a logical
 * cluster moves, so that the shard is part of the key; a read without a shard returns the object of the shard that was seen
 * first.
 */
export class ObjectTable<T extends KubeObject> {
  readonly #clusters = new Map<LogicalClusterName, Map<string, TableEntry<T>>>();
  readonly #shards = new Set<string>();
  #size = 0;

  /** The number of entries. */
  get size(): number {
    return this.#size;
  }

  get({ cluster, namespace, name }: ObjectReference): TableEntry<T> | undefined {
    const entries = this.#clusters.get(cluster);
    if (entries === undefined) return undefined;
    for (const shard of this.#shards) {
      const entry = entries.get(keyOf(namespace, name, shard));
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Inserts or replaces an entry; returns the previous one. */
  set(entry: TableEntry<T>): TableEntry<T> | undefined {
    const { cluster, namespace, name, shard } = entry.reference;
    let entries = this.#clusters.get(cluster);
    if (entries === undefined) {
      entries = new Map();
      this.#clusters.set(cluster, entries);
    }
    this.#shards.add(shard);
    const key = keyOf(namespace, name, shard);
    const previous = entries.get(key);
    if (previous === undefined) this.#size++;
    entries.set(key, entry);
    return previous;
  }

  delete({ cluster, namespace, name, shard }: ReflectedReference): TableEntry<T> | undefined {
    const entries = this.#clusters.get(cluster);
    const key = keyOf(namespace, name, shard);
    const previous = entries?.get(key);
    if (entries === undefined || previous === undefined) return undefined;
    entries.delete(key);
    this.#size--;
    if (entries.size === 0) this.#clusters.delete(cluster);
    return previous;
  }

  /** The entry of exactly this shard. */
  at(reference: ReflectedReference): TableEntry<T> | undefined {
    const { cluster, namespace, name, shard } = reference;
    return this.#clusters.get(cluster)?.get(keyOf(namespace, name, shard));
  }

  /** All entries, or those of one logical cluster, unordered. */
  *entries(cluster?: LogicalClusterName): Generator<TableEntry<T>, void, undefined> {
    if (cluster !== undefined) {
      yield* this.#clusters.get(cluster)?.values() ?? [];
      return;
    }
    for (const entries of this.#clusters.values()) yield* entries.values();
  }
}
