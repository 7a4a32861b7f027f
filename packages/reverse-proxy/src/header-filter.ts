/**
 * Names of headers that must not come from a client, in every spelling: case, and underscores where the name has
 * hyphens (a server behind may take both for the same, GHSA-c8w2-fgvx-vhv4).
 */
export class HeaderFilter {
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  constructor({ names = [], prefixes = [] }: { names?: readonly string[]; prefixes?: readonly string[] }) {
    this.#names = new Set(names.map(spelledPlainly));
    this.#prefixes = prefixes.map(spelledPlainly);
    if (this.#prefixes.includes('')) throw new TypeError('a prefix that every header begins with');
  }

  matches(name: string): boolean {
    const plain = spelledPlainly(name);
    return this.#names.has(plain) || this.#prefixes.some((prefix) => plain.startsWith(prefix));
  }
}

const spelledPlainly = (name: string): string => name.toLowerCase().replaceAll('_', '-');
