/** Who waits for what, by name: keys of a controller that an event about a name brings back. Holds those that wait only. */
export class KeyWaits {
  readonly #keys = new Map<string, Set<string>>();
  readonly #names = new Map<string, readonly string[]>();

  /** From now on a key waits for these, and for nothing else. */
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

  /** Nobody waits for anything. */
  get idle(): boolean {
    return this.#keys.size === 0;
  }

  of(name: string): Iterable<string> {
    return this.#keys.get(name) ?? [];
  }
}
