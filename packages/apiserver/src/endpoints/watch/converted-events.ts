import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import type { ObjectView } from '../../registry/store/object-view.ts';

export interface ConvertedEventsOptions {
  /** Bytes of events that may wait for the webhook before the watch ends. */
  readonly maxWaitingBytes: number;
  /** The selection reads objects, so the previous object of an event must be converted, too. */
  readonly selectsObjects: boolean;
}

export interface ConvertedEventsModules {
  readonly view: ObjectView;
  /** Receives events in order, with their objects prepared in the view. */
  readonly deliver: (event: CacheEvent) => void;
  /** The webhook failed, or is slower than the events arrive; the watch ends. */
  readonly fail: (error: unknown) => void;
  /** The revision up to which the cache has dispatched events. */
  readonly currentRevision: () => number;
}

/**
 * Converts the objects of a watch's events by a webhook before they are delivered.
 *
 * Events wait in order while a call is in flight; those that arrive meanwhile share the next call. Watches of the same version
 * share calls (see ObjectConversions). An event that needs no conversion is delivered immediately unless others wait. Only
 * this watch waits for the webhook, in bounded memory.
 */
export class ConvertedEvents {
  readonly #options: ConvertedEventsOptions;
  readonly #modules: ConvertedEventsModules;
  #waiting: CacheEvent[] = [];
  #waitingBytes = 0;
  #run: Promise<void> | undefined;
  #delivered = 0;
  #ended = false;

  constructor(options: ConvertedEventsOptions, modules: ConvertedEventsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves when no event waits for a conversion; undefined: none does. */
  get settled(): Promise<void> | undefined {
    return this.#run;
  }

  /** The revision up to which all events were delivered; for bookmarks. */
  get revision(): number {
    return this.#run !== undefined ? this.#delivered : this.#modules.currentRevision();
  }

  end(): void {
    this.#ended = true;
    this.#waiting = [];
  }

  readonly onEvent = (event: CacheEvent): void => {
    if (this.#ended) return;
    if (this.#run === undefined && this.#entriesOf(event).every((entry) => this.#modules.view.isReady(entry))) {
      this.#modules.deliver(event);
      return;
    }
    const bytes = sizeOf(event);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#options.maxWaitingBytes) {
      this.end();
      this.#modules.fail(new Error('the conversion webhook is too slow for this watch'));
      return;
    }
    this.#waiting.push(event);
    this.#waitingBytes += bytes;
    if (this.#run !== undefined) return;
    this.#delivered = event.revision - 1;
    this.#run = this.#convert();
  };

  async #convert(): Promise<void> {
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
      this.#run = undefined;
    } catch (error) {
      if (this.#ended) return;
      this.end();
      fail(error);
    }
  }

  /** The entries of an event that must be converted: the current one; the previous one for deletions and for selections. */
  #entriesOf({ current, previous }: CacheEvent): CacheEntry[] {
    if (current === undefined) return previous === undefined ? [] : [previous];
    return previous === undefined || !this.#options.selectsObjects ? [current] : [previous, current];
  }
}

const sizeOf = ({ current, previous }: CacheEvent): number => ((current ?? previous) as CacheEntry).value.length;
