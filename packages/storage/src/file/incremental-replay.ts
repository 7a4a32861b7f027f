import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import type { StoreState } from './store-state.ts';
import type { RecordReplay } from './full-replay.ts';

/** Applies the records after a key index snapshot to its state. */
export class IncrementalReplay implements RecordReplay {
  readonly segments: Segment[];
  readonly #state: StoreState;
  #oldest: number;

  constructor(state: StoreState) {
    this.#state = state;
    this.segments = state.segments;
    this.#oldest = state.history.oldest;
  }

  get revision(): number {
    return this.#state.revision;
  }

  add(entry: Entry): void {
    this.#state.apply(entry);
    const { key, expiresAt } = entry;
    if (expiresAt !== undefined) this.#state.expiring.push({ key, at: expiresAt });
  }

  lose(): void {
    throw new TypeError('damage is only judged by a full replay');
  }

  advanceTo(): void {
    throw new TypeError('a base is only replayed completely');
  }

  compactTo(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#state.revision));
  }

  build(): StoreState {
    this.#state.history.trim(this.#oldest, Infinity);
    return this.#state;
  }
}
