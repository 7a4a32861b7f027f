import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import type { ObjectView } from '../registry/object-view.ts';

export interface ConvertedEventsOptions {
  /** Bytes of objects that may wait for the webhook before the watch is cut off. */
  readonly maxWaitingBytes: number;
  /** The selection looks at objects: what an object was counts, too. */
  readonly selectsObjects: boolean;
}

export interface ConvertedEventsModules {
  readonly view: ObjectView;
  /** Takes events in order, their objects readable. */
  readonly deliver: (event: CacheEvent) => void;
  /** The webhook failed, or is too slow for what happens: the watch ends. */
  readonly fail: (error: unknown) => void;
  /** Everything up to here was dispatched by the cache. */
  readonly currentRevision: () => number;
}

/**
 * Events of a watch whose objects a webhook must convert before anybody can tell what they mean.
 *
 * They wait in order while the webhook is asked; what gathers meanwhile goes into the next call together. Many watches of
 * one version share their calls. What needs no conversion and stands behind nothing that does goes through at once. Nothing waits for the webhook but this watch, and it waits in bounded memory.
 */
export class ConvertedEvents {
  readonly #options: ConvertedEventsOptions;
  readonly #modules: ConvertedEventsModules;
  #waiting: CacheEvent[] = [];
  #waitingBytes = 0;
  #running = false;
  #delivered = 0;
  #ended = false;

  constructor(options: ConvertedEventsOptions, modules: ConvertedEventsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** What a bookmark may say: everything up to here was delivered. */
  get revision(): number {
    return this.#running ? this.#delivered : this.#modules.currentRevision();
  }

  end(): void {
    this.#ended = true;
    this.#waiting = [];
  }

  readonly onEvent = (event: CacheEvent): void => {
    if (this.#ended) return;
    if (!this.#running && this.#entriesOf(event).every((entry) => this.#modules.view.isReady(entry))) {
      this.#modules.deliver(event);
      return;
    }
    const bytes = sizeOf(event);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#options.maxWaitingBytes) {
      this.end();
      this.#modules.fail(new Error('the webhook is too slow for this watch'));
      return;
    }
    this.#waiting.push(event);
    this.#waitingBytes += bytes;
    if (this.#running) return;
    this.#running = true;
    this.#delivered = event.revision - 1;
    void this.#run();
  };

  async #run(): Promise<void> {
    const { view, deliver, fail } = this.#modules;
    try {
      while (this.#waiting.length > 0) {
        const events = this.#waiting;
        this.#waiting = [];
        this.#waitingBytes = 0;
        const entries = events.flatMap((event) => this.#entriesOf(event));
        await view.prepare(entries);
        for (const event of events) {
          if (this.#ended) return;
          deliver(event);
          this.#delivered = event.revision;
        }
        view.release(entries);
      }
      this.#running = false;
    } catch (error) {
      if (this.#ended) return;
      this.end();
      fail(error);
    }
  }

  /** What is needed of an event: the object as it is; as it was where it went, or where the selection may tell that it went. */
  #entriesOf({ current, previous }: CacheEvent): CacheEntry[] {
    if (current === undefined) return previous === undefined ? [] : [previous];
    return previous === undefined || !this.#options.selectsObjects ? [current] : [previous, current];
  }
}

const sizeOf = ({ current, previous }: CacheEvent): number => ((current ?? previous) as CacheEntry).value.length;
