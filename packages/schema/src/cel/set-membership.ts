import { CelUint, type CelValue } from './values.ts';

/**
 * Whether a value is in a constant list, without a walk over it; undefined: the list has to be searched (cel-go
 * `maybeOptimizeSetMembership`). Numbers are found under the other types of numbers that hold them.
 */
export function membershipTest(list: readonly CelValue[]): ((item: CelValue) => boolean) | undefined {
  const members = new Set<unknown>();
  for (const item of list) {
    const key = keyOf(item);
    if (key === undefined) return undefined;
    members.add(key);
    for (const other of otherNumbers(item)) members.add(other);
  }
  // Nothing is equal to NaN, although a set finds it.
  return (item) => !Number.isNaN(item) && members.has(keyOf(item));
}

/** Uints are moved beyond the range of ints. */
const keyOf = (item: CelValue): unknown => {
  if (item instanceof CelUint) return item.value + uintKeys;
  return typeof item === 'object' ? undefined : item;
};
const uintKeys = 2n ** 64n;

function otherNumbers(item: CelValue): readonly unknown[] {
  const value = item instanceof CelUint ? item.value : item;
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return [];
    const whole = BigInt(value);
    return [...(fitsInt(whole) ? [whole] : []), ...(fitsUint(whole) ? [whole + uintKeys] : [])];
  }
  if (typeof value !== 'bigint') return [];
  const others: unknown[] = [Number(value)];
  if (item instanceof CelUint) return fitsInt(value) ? [...others, value] : others;
  return fitsUint(value) ? [...others, value + uintKeys] : others;
}
const fitsInt = (value: bigint): boolean => BigInt.asIntN(64, value) === value;
const fitsUint = (value: bigint): boolean => BigInt.asUintN(64, value) === value;
