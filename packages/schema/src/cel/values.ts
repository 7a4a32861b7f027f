import { runeCount } from '../go-text.ts';
import type { CelType } from './types.ts';

/**
 * Values of CEL. `int` is a bigint within 64 bits, `double` a number, `bytes` a Uint8Array; `string`, `bool`, `null` and
 * `list` are JavaScript's own. All are immutable, except that a comprehension appends to the list it alone holds.
 */
export type CelValue =
  | bigint
  | number
  | string
  | boolean
  | null
  | Uint8Array
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelOptional
  | CelTypeValue
  | CelMap
  | CelObject
  | CelOpaque
  | readonly CelValue[];

export class CelUint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class CelTimestamp {
  readonly nanos: bigint;
  /** The minutes east of UTC that it was written with: it is printed so, but they do not tell it from another. */
  readonly zone: number;
  constructor(nanos: bigint, zone = 0) {
    this.nanos = nanos;
    this.zone = zone;
  }
}

export class CelDuration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class CelOptional {
  readonly value: CelValue | undefined;
  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}
export const optionalNone = new CelOptional(undefined);

/** A type as a value: `int`, `type(self)`. */
export class CelTypeValue {
  readonly type: CelType;
  constructor(type: CelType) {
    this.type = type;
  }
}

/** A value of a library (URL, quantity, …): only the functions of that library look inside. */
export abstract class CelOpaque {
  abstract readonly type: CelType;
  abstract equals(other: CelOpaque): boolean;
  /** What `size` means for the cost of passing this value; 1 unless its library says otherwise. */
  get weight(): number {
    return 1;
  }
}

/** A value with named fields, known to the type checker. Fields are looked up by their CEL names. */
export interface CelFields {
  readonly type: CelType;
  /** Whether the value is a map but for the type checker: one may ask for its size, its keys and its type. */
  readonly isMap: boolean;
  /** The value of a field; undefined: not set. */
  get(name: string): CelValue | undefined;
  /** The names of the fields of a map. */
  keys(): readonly string[];
  readonly size: number;
  equals(other: CelFields): boolean;
}
export class CelObject {
  readonly fields: CelFields;
  constructor(fields: CelFields) {
    this.fields = fields;
  }
}

/** The key under which a value is kept. Whole numbers of other types are moved beyond the range of ints. */
function keyOf(value: CelValue): unknown {
  if (typeof value !== 'object') return value;
  if (value instanceof CelUint) return value.value + uintKeys;
  if (value instanceof CelDuration) return value.nanos + durationKeys;
  // Go tells times apart by their zones.
  return value instanceof CelTimestamp ? value.nanos * minutes + BigInt(value.zone) + timestampKeys : value;
}
const uintKeys = 2n ** 64n;
const durationKeys = 2n ** 66n;
const timestampKeys = 2n ** 90n;
const minutes = 4096n;

/** Numbers of other types that find the entry of a key: of ints and uints each other, of doubles both. */
function otherKeys(key: CelValue): readonly unknown[] {
  if (key instanceof CelUint) return [key.value];
  if (typeof key === 'bigint') return key >= 0n ? [key + uintKeys] : [];
  if (typeof key !== 'number' || !Number.isInteger(key)) return [];
  return [BigInt(key), BigInt(key) + uintKeys];
}

/** A map; keeps the order in which keys were added. Keys may be of any type; lists and maps are only equal to themselves. */
export class CelMap {
  readonly #entries = new Map<unknown, readonly [CelValue, CelValue]>();

  static of(entries: Iterable<readonly [CelValue, CelValue]>): CelMap {
    const map = new CelMap();
    for (const [key, value] of entries) map.set(key, value);
    return map;
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: CelValue): CelValue | undefined {
    return this.#find(key)?.[1];
  }
  has(key: CelValue): boolean {
    return this.#find(key) !== undefined;
  }
  entries(): Iterable<readonly [CelValue, CelValue]> {
    return this.#entries.values();
  }
  #find(key: CelValue): readonly [CelValue, CelValue] | undefined {
    const entry = this.#entries.get(keyOf(key));
    if (entry !== undefined || typeof key === 'string') return entry;
    for (const other of otherKeys(key)) {
      const found = this.#entries.get(other);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Only for the builder of the map, as the other methods that change it. The last value of a key is kept. */
  set(key: CelValue, value: CelValue): void {
    this.#entries.set(keyOf(key), [key, value]);
  }
  delete(key: CelValue): void {
    this.#entries.delete(keyOf(key));
  }
  /** False: the key is there already. */
  insert(key: CelValue, value: CelValue): boolean {
    if (this.has(key)) return false;
    this.set(key, value);
    return true;
  }
  copy(): CelMap {
    return CelMap.of(this.entries());
  }
}

/** A list of a schema that is a set or a map: order does not count when it is compared, `+` merges. */
export class CelKeyedList extends Array<CelValue> {
  /** What tells items apart: their value (a set) or some of their fields (a map), by CEL name. */
  itemKeys: 'value' | readonly string[] = 'value';
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Whether the value is a list. */
export const isList = (value: CelValue): value is readonly CelValue[] => Array.isArray(value);

/** Size as the cost model sees it (cel-go `actualSize`). */
export function weightOf(value: CelValue): number {
  if (typeof value === 'string') return runeCount(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof CelMap) return value.size;
  if (value instanceof CelObject) return value.fields.size;
  if (value instanceof CelOptional) return value.value === undefined ? 1 : weightOf(value.value);
  if (value instanceof CelOpaque) return value.weight;
  return 1;
}
