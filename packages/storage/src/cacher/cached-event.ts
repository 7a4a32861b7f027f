import type { CacheEvent } from '../watch-cache-interface.ts';
import type { CachedEntry } from './cached-entry.ts';
import { FrameMemo, type FrameBudget } from './frame-memo.ts';

/** Bytes of an event in addition to its values: itself, two entries, a key. An upper estimate: it bounds the window. */
const overhead = 512;

/** One change in the event window. `memo` is created on access, since most events have no watcher. */
export class CachedEvent implements CacheEvent {
  readonly current: CachedEntry | undefined;
  readonly previous: CachedEntry | undefined;
  readonly revision: number;
  /** Sequence number among all events since the window was created. */
  readonly sequence: number;
  /** Sequence number of the previous event of the same resource; −1: none. */
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

  /** Encoded frames. The {@link FrameBudget} may clear it; watchers then encode again. */
  get memo(): Map<string, Buffer> {
    return (this.#memo ??= new FrameMemo(this.#frames));
  }

  /** Clears the encoded frames: no further watcher receives this event. */
  releaseFrames(): void {
    if (this.#memo !== undefined) this.#frames.release(this.#memo);
  }
}
