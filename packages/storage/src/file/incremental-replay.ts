import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import type { State } from './state.ts';
import type { RecordTaker } from './state-builder.ts';

/** Takes the records that were written after a moment that is known already. */
export class StateResumer implements RecordTaker {
  readonly segments: Segment[];
  readonly #state: State;
  #oldest: number;

  constructor(state: State) {
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

  reach(): void {
    throw new TypeError('a base is read from its beginning');
  }

  forget(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#state.revision));
  }

  build(): State {
    this.#state.history.trim(this.#oldest, Infinity);
    return this.#state;
  }
}
