import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { keyOf, type Informer, type Lister, type ObjectReference } from '@multiplane/client';

export interface UnitedHandlers<T extends KubeObject> {
  /** The object is new, has changed, or is served by another source now. */
  changed(
    object: DeepReadonly<T>,
    old: DeepReadonly<T> | undefined,
    reference: ObjectReference,
    isInitial: boolean,
  ): void;
  /** The last source that had the object has reported its deletion. */
  deleted?(old: DeepReadonly<T>, reference: ObjectReference): void;
  /** The last source that had the object was removed: nothing is known of the object any more. */
  forgotten?(old: DeepReadonly<T>, reference: ObjectReference): void;
}

/** An object, and the source that serves it. */
export interface Located<T extends KubeObject, S> {
  readonly object: DeepReadonly<T>;
  readonly source: S;
}

interface Source<T extends KubeObject> {
  readonly informer: Informer<T>;
  readonly stop: () => void;
}

/**
 * One resource of several sources as one: by logical cluster, namespace and name, whichever source has the object.
 *
 * While a logical cluster moves from one shard to another, both have its objects; the one where the object appeared last has
 * the object then, and what the other one reports is ignored. So a move is a change, and never a deletion.
 */
export class UnitedObjects<T extends KubeObject, S extends object> implements Lister<T> {
  readonly #sources = new Map<S, Source<T>>();
  /** For objects that several sources have: where it appeared last. */
  readonly #latest = new Map<string, S>();
  readonly #handlers = new Set<UnitedHandlers<T>>();

  /** Adds a source, whose informer has synced. */
  add(source: S, informer: Informer<T>): void {
    const stop = informer.addHandlers({
      added: (object, reference, isInitial = false) => {
        const other = this.find(reference, source);
        if (other !== undefined) this.#latest.set(keyOf(reference), source);
        this.#changed(object, other?.object, reference, isInitial);
      },
      updated: (object, old, reference) => {
        if (this.find(reference)?.source === source) this.#changed(object, old, reference, false);
      },
      deleted: (old, reference) => {
        const other = this.#left(reference, source);
        if (other !== undefined) this.#changed(other.object, old, reference, false);
        else for (const handlers of this.#handlers) handlers.deleted?.(old, reference);
      },
    });
    this.#sources.set(source, { informer, stop });
  }

  /** Removes a source. Its objects are forgotten, unless another one has them. */
  remove(source: S): void {
    const removed = this.#sources.get(source);
    if (removed === undefined) return;
    removed.stop();
    this.#sources.delete(source);
    for (const object of removed.informer.list()) {
      const reference = referenceTo(object);
      const other = this.#left(reference, source);
      if (other !== undefined) this.#changed(other.object, object, reference, false);
      else for (const handlers of this.#handlers) handlers.forgotten?.(object, reference);
    }
  }

  /** Existing objects are reported first, as initial ones, then every change. The result removes the handlers. */
  addHandlers(handlers: UnitedHandlers<T>): () => void {
    for (const { informer } of this.#sources.values())
      for (const object of informer.list()) {
        const reference = referenceTo(object);
        if (this.get(reference) === object) handlers.changed(object, undefined, reference, true);
      }
    this.#handlers.add(handlers);
    return () => void this.#handlers.delete(handlers);
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.find(reference)?.object;
  }

  /** `except`: the object of another source than this one. */
  find(reference: ObjectReference, except?: S): Located<T, S> | undefined {
    const latest = this.#latest.size === 0 ? undefined : this.#latest.get(keyOf(reference));
    if (latest !== undefined && latest !== except) {
      const object = this.#sources.get(latest)?.informer.get(reference);
      if (object !== undefined) return { object, source: latest };
    }
    for (const [source, { informer }] of this.#sources) {
      if (source === except) continue;
      const object = informer.get(reference);
      if (object !== undefined) return { object, source };
    }
    return undefined;
  }

  /** The sources other than this one. */
  others(source: S | undefined): S[] {
    return [...this.#sources.keys()].filter((other) => other !== source);
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<T>[] {
    const all = [...this.#sources.values()].flatMap(({ informer }) => informer.list(scope));
    return this.#latest.size === 0 ? all : all.filter((object) => this.get(referenceTo(object)) === object);
  }

  /** The source has lost the object: who has it now. */
  #left(reference: ObjectReference, source: S): Located<T, S> | undefined {
    const other = this.find(reference, source);
    if (this.#latest.size > 0) {
      const key = keyOf(reference);
      // With one source left, or none, there is nothing to choose from.
      if (this.#latest.has(key) && this.#count(reference) <= 1) this.#latest.delete(key);
    }
    return other;
  }

  #count(reference: ObjectReference): number {
    return [...this.#sources.values()].filter(({ informer }) => informer.get(reference) !== undefined).length;
  }

  #changed(
    object: DeepReadonly<T>,
    old: DeepReadonly<T> | undefined,
    reference: ObjectReference,
    isInitial: boolean,
  ): void {
    for (const handlers of this.#handlers) handlers.changed(object, old, reference, isInitial);
  }
}

function referenceTo({ metadata }: DeepReadonly<KubeObject>): ObjectReference {
  return {
    cluster: (metadata.annotations?.['kcp.io/cluster'] ?? '') as LogicalClusterName,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
  };
}
