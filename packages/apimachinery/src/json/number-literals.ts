/** Parts have about so many literals. */
const perPart = 16_384;

/**
 * Literals of the numbers in one object or list, by name or index. A Map that grows copies all its entries in one step, 50 ms for
 * those of a list of 700,000 numbers: they are in several.
 */
export class NumberLiterals {
  readonly #parts = new Map<number, Map<string, string>>();

  get(key: string): string | undefined {
    return this.#parts.get(partOf(key))?.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, literal: string): void {
    const part = partOf(key);
    const known = this.#parts.get(part);
    if (known === undefined) this.#parts.set(part, new Map([[key, literal]]));
    else known.set(key, literal);
  }

  *[Symbol.iterator](): Generator<[string, string], void> {
    for (const part of this.#parts.values()) yield* part;
  }
}

/** Sets the literal of a number in a container. */
export function keepLiteral<T>(literals: Map<T, NumberLiterals>, container: T, key: string, literal: string): void {
  let known = literals.get(container);
  if (known === undefined) {
    known = new NumberLiterals();
    literals.set(container, known);
  }
  known.set(key, literal);
}

/** The names of an object are few enough for one part. */
function partOf(key: string): number {
  const index = Number(key);
  return Number.isSafeInteger(index) && index >= 0 ? Math.floor(index / perPart) : 0;
}
