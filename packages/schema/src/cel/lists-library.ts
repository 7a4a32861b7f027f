import { operators } from './ast.ts';
import { CelCostError, CelError } from './cel-error.ts';
import { compareValues, equal } from './equality.ts';
import { declare, type CelFunction, type Overload } from './function-declaration.ts';
import { standardLibrary } from './standard-library.ts';
import { typeOfValue } from './standard-types.ts';
import { CelDuration, CelUint, isList, type CelValue } from './values.ts';

type List = readonly CelValue[];
const comparable = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];
const zeros: Readonly<Record<string, CelValue>> = {
  int: 0n,
  uint: new CelUint(0n),
  double: 0,
  duration: new CelDuration(0n),
};
const add = standardLibrary.find((overload) => overload.name === operators.add)?.apply as CelFunction;
const forEach = (names: readonly string[], make: (type: string) => Overload): Overload[] => names.map(make);
const before = (left: CelValue, right: CelValue): boolean => (compareValues(left, right) ?? 0) < 0;

const times = ['google.protobuf.Duration', 'google.protobuf.Timestamp'];
const ordered = new Set(['bool', 'int', 'uint', 'double', 'string', 'bytes', ...times]);
const summable = new Set(['int', 'uint', 'double', 'string', 'bytes', 'list', ...times]);
/** Nothing is known beforehand of the items of a dyn list. */
function checkItem(name: string, item: CelValue, types: ReadonlySet<string>): void {
  if (!types.has(typeOfValue(item).name)) throw new CelError(`no such overload: ${name}(list)`);
}

const isSorted: CelFunction = (list) =>
  (list as List).every((item, index, items) => {
    checkItem('isSorted', item, ordered);
    return index === 0 || !before(item, items[index - 1] as CelValue);
  });

const extreme =
  (name: string, better: (left: CelValue, right: CelValue) => boolean): CelFunction =>
  (list) => {
    const items = list as List;
    if (items.length === 0) throw new CelError(`${name} called on empty list`);
    for (const item of items) checkItem(name, item, ordered);
    return items.reduce((best, item) => (better(item, best) ? item : best));
  };
const min = extreme('min', before);
const max = extreme('max', (left, right) => before(right, left));

/** Kubernetes' functions of lists, version 0. */
const kubernetesLists: readonly Overload[] = [
  ...forEach(comparable, (type) =>
    declare('isSorted', `list_${type}_is_sorted_bool`, `list(${type}).() bool`, isSorted),
  ),
  ...forEach(Object.keys(zeros), (type) =>
    declare('sum', `list_${type}_sum_${type}`, `list(${type}).() ${type}`, (list) => {
      // The type of the items is that of the first one: nothing else may be known of a list.
      const [first = zeros[type] as CelValue, ...rest] = list as List;
      checkItem('sum', first, summable);
      return rest.reduce((sum, item) => add(sum, item), first);
    }),
  ),
  ...forEach(comparable, (type) => declare('max', `list_${type}_max_${type}`, `list(${type}).() ${type}`, max)),
  ...forEach(comparable, (type) => declare('min', `list_${type}_min_${type}`, `list(${type}).() ${type}`, min)),
  declare('indexOf', 'list_a_index_of_int', 'list(A).(A) int', (list, item) =>
    BigInt((list as List).findIndex((candidate) => equal(candidate, item))),
  ),
  declare('lastIndexOf', 'list_a_last_index_of_int', 'list(A).(A) int', (list, item) =>
    BigInt((list as List).findLastIndex((candidate) => equal(candidate, item))),
  ),
];

function slice(list: List, start: bigint, end: bigint): List {
  const what = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) throw new CelError(`${what}, negative indexes not supported`);
  if (start > end) throw new CelError(`${what}, start index must be less than or equal to end index`);
  if (BigInt(list.length) < end) throw new CelError(`${what}, list is length ${list.length}`);
  return list.slice(Number(start), Number(end));
}

function flatten(list: List, depth: number): List {
  if (depth < 0) throw new CelError('level must be non-negative');
  return list.flatMap((item) => (isList(item) && depth > 0 ? flatten(item, depth - 1) : [item]));
}

function sortBy(list: List, keys: List): List {
  const [first] = keys;
  if (first === undefined) return list;
  const type = typeOfValue(first).name;
  if (compareValues(first, first) === undefined) throw new CelError('list elements must be comparable');
  if (keys.some((key) => typeOfValue(key).name !== type)) throw new CelError('list elements must have the same type');
  const order = keys.map((_key, index) => index);
  order.sort((a, b) => compareValues(keys[a] as CelValue, keys[b] as CelValue) ?? 0);
  return order.map((index) => list[index] as CelValue);
}

/** Equal values of scalars share a key, so that only other values are compared with each other. */
function distinct(list: List): List {
  const seen = new Set<CelValue>();
  const kept: CelValue[] = [];
  for (const item of list) {
    if (typeof item === 'string' || typeof item === 'boolean' || typeof item === 'bigint') {
      if (seen.has(item)) continue;
      seen.add(item);
      if (typeof item === 'bigint' && kept.some((other) => typeof other !== 'bigint' && equal(other, item))) continue;
    } else if (kept.some((other) => equal(other, item))) continue;
    kept.push(item);
  }
  return kept;
}

/** More elements cost more than any expression may. */
const rangeLimit = 1_000_000n;
/** How cel-go names a type in the ids of these overloads. */
const idOf = (type: string): string =>
  type === 'duration' || type === 'timestamp'
    ? `google.protobuf.${type === 'duration' ? 'Duration' : 'Timestamp'}`
    : type;

/** cel-go `ext/lists.go`, version 3. */
const extensionLists: readonly Overload[] = [
  declare('slice', 'list_slice', 'list(T).(int, int) list(T)', (list, start, end) =>
    slice(list as List, start as bigint, end as bigint),
  ),
  declare('flatten', 'list_flatten', 'list(list(T)).() list(T)', (list) => flatten(list as List, 1)),
  declare('flatten', 'list_flatten_int', 'list(dyn).(int) list(dyn)', (list, depth) =>
    flatten(list as List, Math.min(Number(depth), 250)),
  ),
  ...forEach(comparable, (type) =>
    declare('sort', `list_${idOf(type)}_sort`, `list(${type}).() list(${type})`, (list) =>
      sortBy(list as List, list as List),
    ),
  ),
  ...forEach(comparable, (type) =>
    declare(
      '@sortByAssociatedKeys',
      `list_${idOf(type)}_sortByAssociatedKeys`,
      `list(T).(list(${type})) list(T)`,
      (list, keys) => sortBy(list as List, keys as List),
    ),
  ),
  declare('lists.range', 'lists_range', '(int) list(int)', (count) => {
    const length = count as bigint;
    if (length > rangeLimit) throw new CelCostError();
    return Array.from({ length: Math.max(Number(length), 0) }, (_none, index) => BigInt(index));
  }),
  declare('reverse', 'list_reverse', 'list(T).() list(T)', (list) => (list as List).toReversed()),
  declare('distinct', 'list_distinct', 'list(T).() list(T)', (list) => distinct(list as List)),
];

const contains = (list: List, item: CelValue): boolean => list.some((candidate) => equal(candidate, item));
/** cel-go `ext/sets.go`. */
const sets: readonly Overload[] = [
  declare('sets.contains', 'list_sets_contains_list', '(list(T), list(T)) bool', (list, part) =>
    (part as List).every((item) => contains(list as List, item)),
  ),
  declare('sets.equivalent', 'list_sets_equivalent_list', '(list(T), list(T)) bool', (left, right) => {
    const [a, b] = [left as List, right as List];
    return a.every((item) => contains(b, item)) && b.every((item) => contains(a, item));
  }),
  declare('sets.intersects', 'list_sets_intersects_list', '(list(T), list(T)) bool', (left, right) =>
    (left as List).some((item) => contains(right as List, item)),
  ),
];

export const listsLibrary: readonly Overload[] = [...kubernetesLists, ...extensionLists, ...sets];
