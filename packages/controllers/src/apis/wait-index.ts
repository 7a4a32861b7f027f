/** Index of controller keys by the names of what they wait for. Holds waiting keys only. */
export class WaitIndex {
  readonly #keys = new Map<string, Set<string>>();
  readonly #names = new Map<string, readonly string[]>();

  /** Replaces the names that a key waits for. */
  set(key: string, names: readonly string[]): void {
    this.forget(key);
    if (names.length === 0) return;
    this.#names.set(key, names);
    for (const name of names) {
      const keys = this.#keys.get(name);
      if (keys === undefined) this.#keys.set(name, new Set([key]));
      else keys.add(key);
    }
  }

  forget(key: string): void {
    for (const name of this.#names.get(key) ?? []) {
      const keys = this.#keys.get(name);
      if (keys?.delete(key) === true && keys.size === 0) this.#keys.delete(name);
    }
    this.#names.delete(key);
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  of(name: string): Iterable<string> {
    return this.#keys.get(name) ?? [];
  }
}
