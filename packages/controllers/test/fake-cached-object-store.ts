import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import type { CachedObjectStore, KnownCachedObject, OpenedCachedKind } from '../src/cache/cached-object-store.ts';
import type { ReplicatedKind } from '../src/cache/replicated-kinds.ts';
import { keyOf, referenceOf } from '../src/runtime/object-key.ts';

interface Entry extends KnownCachedObject {
  readonly object: DeepReadonly<KubeObject>;
}

/** An in-memory store of cached objects with one writer, so that no write conflicts. */
export class FakeCachedObjectStore implements CachedObjectStore {
  readonly synced = Promise.resolve();
  /** Resolves when an opened kind is known; tests replace it to delay that. */
  opened: Promise<void> = Promise.resolve();
  /** Kinds that are open. */
  openKinds = 0;
  readonly #entries = new Map<string, Map<string, Entry>>();
  #revision = 0;

  onChange(): void {}

  get(kind: ReplicatedKind, reference: ObjectReference): Entry | undefined {
    return this.#of(kind).get(keyOf(reference));
  }

  equals(known: KnownCachedObject, object: DeepReadonly<KubeObject>): boolean {
    return JSON.stringify((known as Entry).object) === JSON.stringify(object);
  }

  async put(kind: ReplicatedKind, reference: ObjectReference, object: DeepReadonly<KubeObject>): Promise<void> {
    this.#of(kind).set(keyOf(reference), { object, revision: ++this.#revision });
  }

  async delete(kind: ReplicatedKind, reference: ObjectReference): Promise<void> {
    this.#of(kind).delete(keyOf(reference));
  }

  open(kind: ReplicatedKind): OpenedCachedKind {
    this.openKinds++;
    const list = (cluster: LogicalClusterName) =>
      [...this.#of(kind).keys()].map(referenceOf).filter((reference) => reference.cluster === cluster);
    return {
      synced: this.opened,
      list,
      count: (cluster: LogicalClusterName) => list(cluster).length,
      close: () => void this.openKinds--,
    };
  }

  /** Names of the cached objects under `<resource>:<identity>`, sorted. */
  names({ resource, identity }: ReplicatedKind): string[] {
    return [...this.#of({ group: '', version: '', resource, identity }).keys()]
      .map((key) => referenceOf(key).name)
      .sort();
  }

  #of({ resource, identity }: ReplicatedKind): Map<string, Entry> {
    const place = `${resource}:${identity ?? ''}`;
    const entries = this.#entries.get(place) ?? new Map<string, Entry>();
    this.#entries.set(place, entries);
    return entries;
  }
}
