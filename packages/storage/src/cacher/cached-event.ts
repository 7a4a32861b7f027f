import type { CacheEvent } from '../watch-cache-interface.ts';
import type { CachedEntry } from './cached-entry.ts';
import { FrameMemo, type FrameBudget } from './frame-memo.ts';

/** What an event costs beside the two values: itself, two entries, a key. Generous, since the window is bounded by it. */
const overhead = 512;

/** One change in the window. `memo` is made when somebody asks, since most events have no watcher. */
export class CachedEvent implements CacheEvent {
  readonly current: CachedEntry | undefined;
  readonly previous: CachedEntry | undefined;
  readonly revision: number;
  /** Position in the sequence of all events since the window was made. */
  readonly sequence: number;
  /** Position of the event before this one below the same resource prefix; −1: none. */
  readonly olderSequence: number;
  /** Seconds of the monotonic clock. */
  readonly second: number;
  readonly #frames: FrameBudget;
  #memo: FrameMemo | undefined;

  constructor(init: {
    readonly current: CachedEntry | undefined;
    readonly previous: CachedEntry | undefined;
    readonly revision: number;
    readonly sequence: number;
    readonly olderSequence: number;
    readonly second: number;
    readonly frames: FrameBudget;
  }) {
    this.current = init.current;
    this.previous = init.previous;
    this.revision = init.revision;
    this.sequence = init.sequence;
    this.olderSequence = init.olderSequence;
    this.second = init.second;
    this.#frames = init.frames;
  }

  get key(): string {
    return (this.current ?? this.previous)?.key ?? '';
  }

  get bytes(): number {
    return overhead + (this.current?.length ?? 0) + (this.previous?.length ?? 0);
  }

  /** Encoded frames. It may be emptied once the event is no longer new: frames are made again then. */
  get memo(): Map<string, Buffer> {
    return (this.#memo ??= new FrameMemo(this.#frames));
  }
}
