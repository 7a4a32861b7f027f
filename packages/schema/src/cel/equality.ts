import { CelError } from './cel-error.ts';
import {
  CelDuration,
  CelKeyedList,
  CelMap,
  CelObject,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  isList,
  type CelValue,
} from './values.ts';
import { sameType } from './types.ts';

/** A number for comparison across int, uint and double; undefined: not a number. */
export function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof CelUint ? value.value : undefined;
}

/** Equality of any two values (the language definition, "Equality"): different types are unequal, numbers compare. */
export function equal(left: CelValue, right: CelValue): boolean {
  if (left === right) return true;
  const number = numeric(left);
  if (number !== undefined) {
    const other = numeric(right);
    // eslint-disable-next-line eqeqeq -- compares bigint with number by mathematical value
    return other !== undefined && number == other;
  }
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (isList(left)) return isList(right) && equalLists(left, right);
  if (left instanceof CelMap) {
    if (right instanceof CelMap) return equalMaps(left, right);
    return right instanceof CelObject && right.fields.isMap && equalFields(right, left);
  }
  if (left instanceof CelObject) {
    if (right instanceof CelObject) return left.fields.equals(right.fields);
    return right instanceof CelMap && left.fields.isMap && equalFields(left, right);
  }
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof CelTimestamp) return right instanceof CelTimestamp && left.nanos === right.nanos;
  if (left instanceof CelDuration) return right instanceof CelDuration && left.nanos === right.nanos;
  if (left instanceof CelTypeValue) return right instanceof CelTypeValue && sameType(left.type, right.type, true);
  if (left instanceof CelOpaque) return right instanceof CelOpaque && left.equals(right);
  if (left instanceof CelOptional) {
    if (!(right instanceof CelOptional)) return false;
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equal(left.value, right.value);
  }
  return false;
}

function equalLists(left: readonly CelValue[], right: readonly CelValue[]): boolean {
  if (left.length !== right.length) return false;
  if (left instanceof CelKeyedList) {
    const keyed = left;
    const rest = new Map<string, CelValue[]>();
    for (const item of right) {
      const key = itemKey(item, keyed.itemKeys);
      const same = rest.get(key);
      if (same === undefined) rest.set(key, [item]);
      else same.push(item);
    }
    return left.every((item) => {
      const candidates = rest.get(itemKey(item, keyed.itemKeys)) ?? [];
      const index = candidates.findIndex((candidate) => equal(item, candidate));
      if (index >= 0) candidates.splice(index, 1);
      return index >= 0;
    });
  }
  for (let index = 0; index < left.length; index++) {
    if (!equal(left[index] as CelValue, right[index] as CelValue)) return false;
  }
  return true;
}

function equalMaps(left: CelMap, right: CelMap): boolean {
  if (left.size !== right.size) return false;
  for (const [key, value] of left.entries()) {
    const other = right.get(key);
    if (other === undefined || !equal(value, other)) return false;
  }
  return true;
}

/** An object and a map, which the type checker lets nobody compare unless one of them is of type dyn. */
function equalFields({ fields }: CelObject, map: CelMap): boolean {
  return (
    fields.size === map.size &&
    fields.keys().every((name) => {
      const [value, other] = [fields.get(name), map.get(name)];
      return value === undefined || other === undefined ? value === other : equal(value, other);
    })
  );
}

/** A text that equal items of a keyed list share. */
function itemKey(item: CelValue, keys: 'value' | readonly string[]): string {
  if (keys !== 'value' && item instanceof CelObject) {
    return JSON.stringify(keys.map((key) => scalarKey(item.fields.get(key) ?? null)));
  }
  return scalarKey(item);
}
const scalarKey = (value: CelValue): string =>
  typeof value === 'object' && value !== null ? 'composite' : `${typeof value} ${String(value)}`;

/** `+` of keyed lists: items of the right replace those with their key on the left, others are added. */
export function mergeKeyed(left: CelKeyedList, right: readonly CelValue[]): CelValue[] {
  const merged = new CelKeyedList();
  merged.itemKeys = left.itemKeys;
  for (const item of left) merged.push(item);
  const places = new Map<string, number[]>();
  merged.forEach((item, index) => {
    const key = itemKey(item, left.itemKeys);
    places.set(key, [...(places.get(key) ?? []), index]);
  });
  for (const item of right) {
    const candidates = places.get(itemKey(item, left.itemKeys)) ?? [];
    const place =
      left.itemKeys === 'value' ? candidates.find((index) => equal(merged[index] as CelValue, item)) : candidates[0];
    if (place === undefined) merged.push(item);
    else merged[place] = item;
  }
  return merged;
}

/** Order of two values: negative, zero or positive; NaN: not comparable (an operand is NaN). Undefined: no overload. */
export function compareValues(left: CelValue, right: CelValue): number | undefined {
  const number = numeric(left);
  if (number !== undefined) {
    const other = numeric(right);
    if (other === undefined) return undefined;
    if (typeof number !== typeof other) return compareLossy(Number(number), Number(other));
    if (number < other) return -1;
    if (number > other) return 1;
    // eslint-disable-next-line eqeqeq -- compares bigint with number by mathematical value
    return number == other ? 0 : Number.NaN;
  }
  if (typeof left === 'string') return typeof right === 'string' ? compareText(left, right) : undefined;
  if (typeof left === 'boolean') return typeof right === 'boolean' ? Number(left) - Number(right) : undefined;
  if (left instanceof CelTimestamp && right instanceof CelTimestamp) return compareBig(left.nanos, right.nanos);
  if (left instanceof CelDuration && right instanceof CelDuration) return compareBig(left.nanos, right.nanos);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  return undefined;
}
/** Whole numbers compare with doubles as doubles. */
const compareLossy = (left: number, right: number): number =>
  left < right ? -1 : left > right ? 1 : left === right ? 0 : Number.NaN;
const compareBig = (left: bigint, right: bigint): number => (left < right ? -1 : left > right ? 1 : 0);

/** By code points, as UTF-8 sorts. */
function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const end = Math.min(left.length, right.length);
  for (let index = 0; index < end; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) {
      const surrogateA = a >= 0xd800 && a < 0xe000;
      const surrogateB = b >= 0xd800 && b < 0xe000;
      return surrogateA === surrogateB ? a - b : surrogateA ? 1 : -1;
    }
  }
  return left.length - right.length;
}

const max = 2n ** 63n - 1n;
/** An int, if it fits. */
export function int64(value: bigint): bigint {
  if (value > max || value < -max - 1n) throw new CelError('integer overflow');
  return value;
}
export function uint64(value: bigint): CelUint {
  if (value < 0n || value >= 2n ** 64n) throw new CelError('unsigned integer overflow');
  return new CelUint(value);
}
