export interface HeaderFilterOptions {
  readonly names?: readonly string[] | undefined;
  /** Prefixes of names. */
  readonly prefixes?: readonly string[] | undefined;
  /** Prefixes of names that clients may send with hyphens, but not with underscores in place of them. */
  readonly hyphenatedOnly?: readonly string[] | undefined;
}

/**
 * Header names that are not accepted from clients, in every spelling: letter case, and underscores in place of hyphens
 * (upstreams may treat both as equal, GHSA-c8w2-fgvx-vhv4).
 */
export class HeaderFilter {
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: readonly string[];
  readonly #misspelled: readonly string[];
  /** Results by header name as received: most requests carry the same names. */
  readonly #results = new Map<string, boolean>();

  constructor({ names = [], prefixes = [], hyphenatedOnly = [] }: HeaderFilterOptions) {
    this.#names = new Set(names.map(normalize));
    this.#prefixes = prefixes.map(normalize);
    this.#misspelled = hyphenatedOnly.map(normalize);
    if ([...this.#prefixes, ...this.#misspelled].includes(''))
      throw new TypeError('an empty prefix matches every header');
  }

  matches(name: string): boolean {
    let result = this.#results.get(name);
    if (result === undefined) {
      result = this.#compute(name);
      // Bounded, because clients choose the names.
      if (this.#results.size < maxCachedResults) this.#results.set(name, result);
    }
    return result;
  }

  #compute(name: string): boolean {
    const plain = normalize(name);
    if (this.#names.has(plain) || this.#prefixes.some((prefix) => plain.startsWith(prefix))) return true;
    return name.includes('_') && this.#misspelled.some((prefix) => plain.startsWith(prefix));
  }
}

const maxCachedResults = 256;

function normalize(name: string): string {
  const small = name.toLowerCase();
  return small.includes('_') ? small.replaceAll('_', '-') : small;
}
