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
  #made: T | undefined;

  constructor(compile: () => T) {
    this.#compile = compile;
  }

  get(mayCompile: MayCompile): T {
    if (this.#made !== undefined) return this.#made;
    if (!mayCompile()) throw new NotCompiled();
    return (this.#made = this.#compile());
  }
}
