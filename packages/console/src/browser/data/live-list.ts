import type { Column } from './kube-object.ts';
import { Reflector, type ReflectorModules, type ReflectorOptions, type ReflectorSink } from './reflector.ts';

/** What a component sees; a new object whenever something changed. */
export interface LiveSnapshot<T> {
  readonly items: readonly T[];
  readonly columns: readonly Column[];
  /** The first list is complete. */
  readonly isSynced: boolean;
  /** Why the state may be old; undefined while a watch is established. */
  readonly failure: Error | undefined;
}

export interface LiveListModules<T> extends Omit<ReflectorModules<T>, 'sink'> {
  /** Runs the function soon, once per frame of the screen: thousands of events become one render. */
  readonly schedule: (run: () => void) => void;
}

/** The state of one reflector, for any number of subscribers. */
export class LiveList<T> implements ReflectorSink<T> {
  readonly #schedule: (run: () => void) => void;
  readonly #reflector: Reflector<T>;
  readonly #listeners = new Set<() => void>();
  readonly #abort = new AbortController();
  #items = new Map<string, T>();
  #columns: readonly Column[] = [];
  #isSynced = false;
  #failure: Error | undefined;
  #isScheduled = false;
  #snapshot: LiveSnapshot<T> = { items: [], columns: [], isSynced: false, failure: undefined };

  constructor(options: ReflectorOptions<T>, modules: LiveListModules<T>) {
    this.#schedule = modules.schedule;
    this.#reflector = new Reflector(options, { ...modules, sink: this });
  }

  start(): void {
    void this.#reflector.run(this.#abort.signal);
  }

  stop(): void {
    this.#abort.abort();
  }

  readonly snapshot = (): LiveSnapshot<T> => this.#snapshot;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  replace(items: ReadonlyMap<string, T>, columns: readonly Column[]): void {
    this.#items = new Map(items);
    this.#columns = columns;
    this.#isSynced = true;
    this.#publish();
  }

  upsert(key: string, item: T): void {
    this.#items.set(key, item);
    this.#publish();
  }

  remove(key: string): void {
    if (this.#items.delete(key)) this.#publish();
  }

  connection(failure: Error | undefined): void {
    this.#failure = failure;
    this.#publish();
  }

  #publish(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#snapshot = {
        items: [...this.#items.values()],
        columns: this.#columns,
        isSynced: this.#isSynced,
        failure: this.#failure,
      };
      for (const listener of this.#listeners) listener();
    });
  }
}
