import {
  compareBytewise,
  deepFreeze,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, ObjectReference } from '../lister.ts';
import {
  Reflector,
  type ReflectedReference,
  type ReflectorModules,
  type ReflectorOptions,
} from '../reflector/reflector.ts';
import { ObjectTable, type TableEntry } from './object-table.ts';

/** Reduces an object before it is stored, as client-go's TransformFunc. Must keep `resourceVersion`. */
export type ObjectTransform = (object: KubeObject) => KubeObject;

export interface RemoteInformerOptions extends ReflectorOptions {
  readonly transform?: ObjectTransform | undefined;
}

interface Listener<T extends KubeObject> {
  readonly handlers: InformerHandlers<T>;
  /** Notifications that wait for the end of the initial list; undefined after that. */
  pending: (() => void)[] | undefined;
}

/** Objects of the initial list per iteration of the event loop. */
const batchSize = 500;

/**
 * A cache of one resource of a server, kept up to date by a {@link Reflector}.
 *
 * A new handler gets the initial list in batches, so that a long one does not block the event loop; later events are queued
 * behind it in order. After a relist, handlers are notified of differences only.
 */
export class RemoteInformer<T extends KubeObject = KubeObject> implements Informer<T> {
  readonly synced: Promise<void>;
  readonly #table = new ObjectTable<T>();
  readonly #transform: (object: KubeObject) => DeepReadonly<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #reflector: Reflector;
  /** During a relist: the previous entries that were not upserted yet. */
  #stale: Set<TableEntry<T>> | undefined;

  constructor(options: RemoteInformerOptions, modules: Omit<ReflectorModules, 'sink'>) {
    const { transform } = options;
    this.#transform =
      transform === undefined ? (object) => deepFreeze(object as T) : (object) => deepFreeze(transform(object) as T);
    this.#reflector = new Reflector(options, {
      ...modules,
      sink: {
        beginReplace: () => {
          this.#stale = new Set(this.#table.entries());
        },
        upsert: (object, reference) => this.#upsert(object, reference),
        remove: (_object, reference) => this.#remove(reference),
        endReplace: () => {
          const deleted = this.#stale ?? [];
          this.#stale = undefined;
          for (const { reference } of deleted) this.#remove(reference);
        },
      },
    });
    this.synced = this.#reflector.synced;
  }

  /** The current failure; undefined while a watch is established. */
  get failure(): Error | undefined {
    return this.#reflector.failure;
  }

  /** Runs the reflector until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.#table.get(reference)?.object;
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<T>[] {
    const { cluster, namespace } = scope;
    const entries = [...this.#table.entries(cluster)];
    return entries
      .filter(({ reference }) => namespace === undefined || namespace === '' || reference.namespace === namespace)
      .sort((a, b) => compareReferences(a.reference, b.reference))
      .map(({ object }) => object);
  }

  /** The number of objects. */
  get size(): number {
    return this.#table.size;
  }

  /** All objects, in no order. Changes meanwhile are allowed: an object that stays is visited, one that is deleted is not. */
  entries(): Iterable<{ readonly object: DeepReadonly<T>; readonly reference: ObjectReference }> {
    return this.#table.entries();
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const pending: (() => void)[] = [];
    const listener: Listener<T> = { handlers, pending };
    this.#listeners.add(listener);
    const initial = [...this.#table.entries()];
    void this.synced.then(() => this.#notify(listener, () => handlers.synced?.()));
    const notifyInitial = (from: number): void => {
      if (!this.#listeners.has(listener)) return;
      for (const { object, reference } of initial.slice(from, from + batchSize))
        handlers.added?.(object, reference, true);
      if (from + batchSize < initial.length) {
        setImmediate(() => notifyInitial(from + batchSize));
        return;
      }
      listener.pending = undefined;
      for (const notify of pending) notify();
    };
    queueMicrotask(() => notifyInitial(0));
    return () => void this.#listeners.delete(listener);
  }

  #upsert(object: KubeObject, reference: ReflectedReference): void {
    const known = this.#table.at(reference);
    if (known !== undefined) this.#stale?.delete(known);
    // Unchanged since before the relist.
    if (known !== undefined && versionOf(known.object) === versionOf(object)) return;
    const entry = { reference: known?.reference ?? reference, object: this.#transform(object) };
    this.#table.set(entry);
    for (const listener of this.#listeners) {
      this.#notify(listener, () => {
        if (known === undefined) listener.handlers.added?.(entry.object, entry.reference);
        else listener.handlers.updated?.(entry.object, known.object, entry.reference);
      });
    }
  }

  #remove(reference: ReflectedReference): void {
    const known = this.#table.delete(reference);
    if (known === undefined) return;
    this.#stale?.delete(known);
    for (const listener of this.#listeners)
      this.#notify(listener, () => listener.handlers.deleted?.(known.object, known.reference));
  }

  #notify(listener: Listener<T>, call: () => void): void {
    if (!this.#listeners.has(listener)) return;
    if (listener.pending === undefined) call();
    else
      listener.pending.push(() => {
        if (this.#listeners.has(listener)) call();
      });
  }
}

const versionOf = (object: DeepReadonly<KubeObject>): string | undefined => object.metadata.resourceVersion;

/** The order of storage keys: logical cluster, namespace, name. */
function compareReferences(a: ObjectReference, b: ObjectReference): number {
  return (
    compareBytewise(a.cluster, b.cluster) ||
    compareBytewise(a.namespace, b.namespace) ||
    compareBytewise(a.name, b.name)
  );
}
