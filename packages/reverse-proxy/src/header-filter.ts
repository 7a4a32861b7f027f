export interface HeaderFilterOptions {
  readonly names?: readonly string[] | undefined;
  /** Beginnings of names. */
  readonly prefixes?: readonly string[] | undefined;
  /** Beginnings of names that clients may send, but not with underscores for hyphens. */
  readonly misspelled?: readonly string[] | undefined;
}

/**
 * Names of headers that must not come from a client, in every spelling: case, and underscores where the name has
 * hyphens (a server behind may take both for the same, GHSA-c8w2-fgvx-vhv4).
 */
export class HeaderFilter {
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: readonly string[];
  readonly #misspelled: readonly string[];
  /** Verdicts about names in the spelling they came in: the same few come with every request. */
  readonly #verdicts = new Map<string, boolean>();

  constructor({ names = [], prefixes = [], misspelled = [] }: HeaderFilterOptions) {
    this.#names = new Set(names.map(spelledPlainly));
    this.#prefixes = prefixes.map(spelledPlainly);
    this.#misspelled = misspelled.map(spelledPlainly);
    if ([...this.#prefixes, ...this.#misspelled].includes(''))
      throw new TypeError('a prefix that every header begins with');
  }

  matches(name: string): boolean {
    let verdict = this.#verdicts.get(name);
    if (verdict === undefined) {
      verdict = this.#judge(name);
      // Clients make names up.
      if (this.#verdicts.size < maxVerdicts) this.#verdicts.set(name, verdict);
    }
    return verdict;
  }

  #judge(name: string): boolean {
    const plain = spelledPlainly(name);
    if (this.#names.has(plain) || this.#prefixes.some((prefix) => plain.startsWith(prefix))) return true;
    return name.includes('_') && this.#misspelled.some((prefix) => plain.startsWith(prefix));
  }
}

const maxVerdicts = 256;

function spelledPlainly(name: string): string {
  const small = name.toLowerCase();
  return small.includes('_') ? small.replaceAll('_', '-') : small;
}
