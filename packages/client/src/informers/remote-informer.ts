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

/** What is kept of each object: all of it, or what a function makes of it. */
export type Keep = 'objects' | ((object: KubeObject) => KubeObject);

export interface RemoteInformerOptions extends ReflectorOptions {
  readonly keep?: Keep | undefined;
}

interface Listener<T extends KubeObject> {
  readonly handlers: InformerHandlers<T>;
  /** Changes that came while the beginning is being told; undefined once it was. */
  waiting: (() => void)[] | undefined;
}

/** Objects told in one turn of the event loop. */
const sliceSize = 500;

/**
 * A copy of one resource of a server, kept up to date by a {@link Reflector}; what is kept of each object is up to
 * `keep`. Whoever wants none of it kept takes the reflector itself.
 *
 * A new handler is told the state in slices, so that a long one does not hold the event loop; what changes meanwhile
 * waits behind it in order. After the server forgot its history only differences are told.
 */
export class RemoteInformer<T extends KubeObject = KubeObject> implements Informer<T> {
  readonly synced: Promise<void>;
  readonly #table = new ObjectTable<T>();
  readonly #keep: (object: KubeObject) => DeepReadonly<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #reflector: Reflector;
  /** While a new state is being told: what stood in the table and was not told again yet. */
  #unseen: Set<TableEntry<T>> | undefined;

  constructor(options: RemoteInformerOptions, modules: Omit<ReflectorModules, 'sink'>) {
    const { keep } = options;
    this.#keep =
      keep === undefined || keep === 'objects'
        ? (object) => deepFreeze(object as T)
        : (object) => deepFreeze(keep(object) as T);
    this.#reflector = new Reflector(options, {
      ...modules,
      sink: {
        replacing: () => {
          this.#unseen = new Set(this.#table.entries());
        },
        put: (object, reference) => this.#put(object, reference),
        removed: (_object, reference) => this.#remove(reference),
        replaced: () => {
          const gone = this.#unseen ?? [];
          this.#unseen = undefined;
          for (const { reference } of gone) this.#remove(reference);
        },
      },
    });
    this.synced = this.#reflector.synced;
  }

  /** Why it does not follow its server now; undefined while it does. */
  get failure(): Error | undefined {
    return this.#reflector.failure;
  }

  /** Follows until the signal aborts. */
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

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const listener: Listener<T> = { handlers, waiting: [] };
    this.#listeners.add(listener);
    const state = [...this.#table.entries()];
    const waiting = listener.waiting as (() => void)[];
    void this.synced.then(() => this.#tell(listener, () => handlers.synced?.()));
    const step = (from: number): void => {
      if (!this.#listeners.has(listener)) return;
      for (const { object, reference } of state.slice(from, from + sliceSize))
        handlers.added?.(object, reference, true);
      if (from + sliceSize < state.length) {
        setImmediate(() => step(from + sliceSize));
        return;
      }
      listener.waiting = undefined;
      for (const change of waiting) change();
    };
    queueMicrotask(() => step(0));
    return () => void this.#listeners.delete(listener);
  }

  #put(object: KubeObject, reference: ReflectedReference): void {
    const known = this.#table.at(reference);
    if (known !== undefined) this.#unseen?.delete(known);
    // The same version again, after the state was told anew: nothing happened.
    if (known !== undefined && versionOf(known.object) === versionOf(object)) return;
    const entry = { reference: known?.reference ?? reference, object: this.#keep(object) };
    this.#table.set(entry);
    for (const listener of this.#listeners) {
      this.#tell(listener, () => {
        if (known === undefined) listener.handlers.added?.(entry.object, entry.reference);
        else listener.handlers.updated?.(entry.object, known.object, entry.reference);
      });
    }
  }

  #remove(reference: ReflectedReference): void {
    const known = this.#table.delete(reference);
    if (known === undefined) return;
    this.#unseen?.delete(known);
    for (const listener of this.#listeners)
      this.#tell(listener, () => listener.handlers.deleted?.(known.object, known.reference));
  }

  #tell(listener: Listener<T>, what: () => void): void {
    if (!this.#listeners.has(listener)) return;
    if (listener.waiting === undefined) what();
    else
      listener.waiting.push(() => {
        if (this.#listeners.has(listener)) what();
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
