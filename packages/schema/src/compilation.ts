/**
 * Asked before a pattern or a rule is compiled, which takes some 100 µs, and milliseconds in a process that has just
 * started: where it says no, what is being done throws {@link NotCompiled}.
 */
export type MayCompile = () => boolean;

export const compileAtOnce: MayCompile = () => true;

/**
 * Nothing is known of the result, for this turn has compiled enough. Nothing has changed either, and what was compiled
 * stays so: who does the same again in a later turn comes further.
 */
export class NotCompiled extends Error {
  override readonly name = 'NotCompiled';
}

/** Something that is compiled when it is first needed. */
export class Compiled<T extends object> {
  readonly #compile: () => T;
  readonly #isLong: boolean;
  #made: T | undefined;

  /** `isLong`: compiling it alone takes too long for the event loop. */
  constructor(compile: () => T, { isLong = false }: { readonly isLong?: boolean } = {}) {
    this.#compile = compile;
    this.#isLong = isLong;
  }

  /** Whether it is not compiled and compiling it takes too long for the event loop. */
  get isLong(): boolean {
    return this.#isLong && this.#made === undefined;
  }

  get(mayCompile: MayCompile): T {
    if (this.#made !== undefined) return this.#made;
    if (!mayCompile()) throw new NotCompiled();
    return (this.#made = this.#compile());
  }
}
