import { equal } from './equality.ts';
import type { CelType } from './types.ts';
import type { CelFields, CelValue } from './values.ts';

/** The fields of a value that an expression made: `Name{field: value}`. */
export class StructFields implements CelFields {
  readonly type: CelType;
  readonly isMap = false;
  readonly #values: ReadonlyMap<string, CelValue>;

  constructor(type: CelType, values: ReadonlyMap<string, CelValue>) {
    this.type = type;
    this.#values = values;
  }

  get size(): number {
    return this.#values.size;
  }

  get(name: string): CelValue | undefined {
    return this.#values.get(name);
  }

  keys(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** What was set, in the order in which it was. */
  entries(): Iterable<readonly [string, CelValue]> {
    return this.#values;
  }

  equals(other: CelFields): boolean {
    if (!(other instanceof StructFields) || other.type.name !== this.type.name || other.size !== this.size)
      return false;
    for (const [name, value] of this.#values) {
      const theirs = other.get(name);
      if (theirs === undefined || !equal(value, theirs)) return false;
    }
    return true;
  }
}
