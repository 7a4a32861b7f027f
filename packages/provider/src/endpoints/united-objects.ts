import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { keyOf, type Lister, type ObjectReference, type RemoteInformer } from '@multiplane/client';
import { runInTimeSlices } from '@multiplane/component-base';

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

/** What is needed of an informer. */
export type SourceInformer<T extends KubeObject> = Pick<
  RemoteInformer<T>,
  'addHandlers' | 'entries' | 'get' | 'list' | 'size'
>;

interface Entry<T extends KubeObject> {
  readonly object: DeepReadonly<T>;
  readonly reference: ObjectReference;
}

interface Source<T extends KubeObject> {
  readonly informer: SourceInformer<T>;
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

  /** Adds a source, whose informer has synced or may not list. */
  add(source: S, informer: SourceInformer<T>): void {
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

  /**
   * Removes a source. Its objects are forgotten, unless another one has them; resolves once the handlers know that. Many objects
   * take many time slices.
   */
  async remove(source: S): Promise<void> {
    const removed = this.#sources.get(source);
    if (removed === undefined) return;
    removed.stop();
    this.#sources.delete(source);
    const forget = ({ object, reference }: Entry<T>): void => {
      const other = this.#left(reference, source);
      if (other !== undefined) this.#changed(other.object, object, reference, false);
      else for (const handlers of this.#handlers) handlers.forgotten?.(object, reference);
    };
    await runInTimeSlices(each(removed.informer.entries(), forget));
  }

  /**
   * Every change is reported, and existing objects as initial ones, over many time slices: an object may be reported by a change
   * before, and then once more. The result removes the handlers.
   */
  addHandlers(handlers: UnitedHandlers<T>): () => void {
    this.#handlers.add(handlers);
    for (const { informer } of this.#sources.values()) {
      const report = ({ object, reference }: Entry<T>): void => {
        // What has left meanwhile, or is served by another source, is reported by its own change.
        if (this.#handlers.has(handlers) && this.get(reference) === object)
          handlers.changed(object, undefined, reference, true);
      };
      void runInTimeSlices(each(informer.entries(), report));
    }
    return () => void this.#handlers.delete(handlers);
  }

  /** The number of objects; one that several sources have counts once. */
  get size(): number {
    const all = [...this.#sources.values()].reduce((sum, { informer }) => sum + informer.size, 0);
    return all - this.#latest.size;
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

/** A pass for each entry. */
function* each<T extends KubeObject>(
  entries: Iterable<Entry<T>>,
  visit: (entry: Entry<T>) => void,
): Generator<void, void> {
  for (const entry of entries) {
    visit(entry);
    yield;
  }
}

function referenceTo({ metadata }: DeepReadonly<KubeObject>): ObjectReference {
  return {
    cluster: (metadata.annotations?.['kcp.io/cluster'] ?? '') as LogicalClusterName,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
  };
}
