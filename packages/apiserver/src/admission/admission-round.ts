/**
 * The mutating plugins work on a write once, and once more when one of them asks for that because it changed what others
 * had seen (K6.1). What a plugin has to know of its first turn it keeps here, not in itself.
 */
export class AdmissionRound {
  /** 0, and 1 when everything is done again. */
  number = 0;
  #again = false;
  /** Made when a plugin has something to remember: most writes have nothing. */
  #states: Map<string, unknown> | undefined;

  /** Asks for a second round. There is no third. */
  repeat(): void {
    this.#again = true;
  }

  /** Begins the second round, if there must be one. */
  next(): boolean {
    if (!this.#again || this.number > 0) return false;
    this.number = 1;
    return true;
  }

  /** What a plugin remembers of this write. */
  state<T>(plugin: string, make: () => T): T {
    this.#states ??= new Map();
    let state = this.#states.get(plugin) as T | undefined;
    if (state === undefined) {
      state = make();
      this.#states.set(plugin, state);
    }
    return state;
  }
}
