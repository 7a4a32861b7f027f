import { CelUint, type CelValue } from './values.ts';

/**
 * Whether a value is in a constant list, without a walk over it; undefined: the list has to be searched (cel-go
 * `maybeOptimizeSetMembership`). Numbers are found under the other types of numbers that hold them.
 */
export function membershipTest(list: readonly CelValue[]): ((item: CelValue) => boolean) | undefined {
  const members = new Set<string>();
  for (const item of list) {
    const key = keyOf(item);
    if (key === undefined) return undefined;
    members.add(key);
    for (const other of otherNumbers(item)) members.add(other);
  }
  return (item) => {
    if (Number.isNaN(item)) return false;
    const key = keyOf(item);
    return key !== undefined && members.has(key);
  };
}

function keyOf(item: CelValue): string | undefined {
  if (item instanceof CelUint) return `uint ${item.value}`;
  // The sign of a zero does not count.
  if (typeof item === 'number') return `number ${item + 0}`;
  return typeof item === 'object' ? undefined : `${typeof item} ${item}`;
}

function otherNumbers(item: CelValue): string[] {
  const value = item instanceof CelUint ? item.value : item;
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return [];
    const whole = BigInt(value);
    return [...(fitsInt(whole) ? [`bigint ${whole}`] : []), ...(fitsUint(whole) ? [`uint ${whole}`] : [])];
  }
  if (typeof value !== 'bigint') return [];
  const others = [`number ${Number(value)}`];
  if (item instanceof CelUint) return fitsInt(value) ? [...others, `bigint ${value}`] : others;
  return fitsUint(value) ? [...others, `uint ${value}`] : others;
}
const fitsInt = (value: bigint): boolean => BigInt.asIntN(64, value) === value;
const fitsUint = (value: bigint): boolean => BigInt.asUintN(64, value) === value;
