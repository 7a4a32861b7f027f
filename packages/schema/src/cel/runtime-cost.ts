import { CelFormat } from './name-format-library.ts';
import type { CelValue } from './values.ts';
import { CelMap, CelObject, CelOpaque, isList, weightOf } from './values.ts';

/** Factors of cel-go's cost model (`common/cost.go`). */
export const traversal = 0.1;
export const patternLength = 0.25;
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;

/** What a call costs beside its arguments. */
export interface CallCost {
  (args: readonly CelValue[], result: CelValue): number;
  /** It is known only when the work is done; all others are paid before. */
  readonly ofResult?: true;
  /** Items that the call handles in one step of work, if not the usual number. */
  readonly itemsPerStep?: number;
}
type Cost = (args: readonly CelValue[]) => number;
const ofResult = (cost: (result: CelValue) => number): CallCost =>
  Object.assign((_args: readonly CelValue[], result: CelValue) => cost(result), { ofResult: true as const });

const weight = (args: readonly CelValue[], index: number): number => weightOf(args[index] as CelValue);
const scan = (size: number, factor = 1): number => Math.ceil(size * factor * traversal);
const scanFirst: Cost = (args) => scan(weight(args, 0));
const scanTwice: Cost = (args) => scan(weight(args, 0), 2);
const pattern: Cost = (args) => scan(1 + weight(args, 0)) * Math.ceil(weight(args, 1) * patternLength);
const smaller: Cost = (args) => scan(Math.min(weight(args, 0), weight(args, 1)));
const both: Cost = (args) => scan(weight(args, 0) + weight(args, 1));
const network = (args: readonly CelValue[], overload: string): number =>
  scan(weight(args, 0) * 2) + (overload.endsWith('_string') ? scan(weight(args, 1)) : 0);

/** The work of a walk over a value, such as a comparison with another. */
function treeCost(value: CelValue): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * traversal);
  if (value instanceof Uint8Array) return Math.floor(value.length * traversal);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + treeCost(item), 0);
  let sum = 0;
  if (value instanceof CelMap) {
    for (const [key, item] of value.entries()) sum += treeCost(key) + treeCost(item);
    return sum;
  }
  if (!(value instanceof CelObject && value.fields.isMap)) return 1;
  for (const key of value.fields.keys()) sum += treeCost(key) + treeCost(value.fields.get(key) ?? null);
  return sum;
}

/** By the names of functions, whatever the checker knows of the arguments (Kubernetes `library/cost.go`). */
const byName = new Map<string, CallCost>();
const named = (names: string, cost: CallCost): void => {
  for (const name of names.split(' ')) byName.set(name, cost);
};
named('isSorted sum max min indexOf lastIndexOf', (args) => treeCost(args[0] as CelValue));
named('url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR', scanFirst);
named('quantity isQuantity semver isSemver', scanFirst);
named('replace split ip.isCanonical', scanTwice);
named('find findAll', pattern);
named('check', () => 350_000);
named(
  'join',
  ofResult((result) => scan(weightOf(result), 2)),
);
named('validate', ([format, text]) => {
  const size = format instanceof CelFormat ? format.patternSize : 0;
  return scan(1 + weightOf(text as CelValue)) * Math.ceil(size * patternLength);
});
named(
  'fieldSelector labelSelector',
  (args) => listCost + scan(weight(args, 1)) + Math.ceil(weight(args, 1) / 2) * (listCost + structCost),
);
named('_==_', (args) => (args[0] instanceof CelOpaque ? 1 : smaller(args)));

/** By the overload, if the checker found the only one; otherwise these cost 1 (cel-go `interpreter/runtimecost.go`). */
const byOverload = new Map<string, CallCost>();
const overload = (ids: string, cost: CallCost): void => {
  for (const id of ids.split(' ')) byOverload.set(id, cost);
};
overload('starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format', scanFirst);
overload('in_list', (args) => weight(args, 1));
overload('less_string less_equals_string greater_string greater_equals_string', smaller);
overload('less_bytes less_equals_bytes greater_bytes greater_equals_bytes not_equals', smaller);
overload('add_string add_bytes', both);
overload('matches_string', pattern);
overload('contains_string', (args) => scan(weight(args, 0)) * scan(weight(args, 1)));
overload('string_to_ip', scanFirst);

/** Functions that make lists: the call and the list, and a walk over what they read or make. */
const making = (work: number): number => 1 + listCost + Math.floor(work);
/** A negative depth is refused; in cel-go its cost would lower the sum. */
const depthOf = (depth: CelValue | undefined): number => Math.max(Number(depth ?? 1n), 0);
const comparisons = (list: CelValue | undefined): number => {
  const items = list !== undefined && list !== null && isList(list) ? list : [];
  const [first] = items;
  const isText = typeof first === 'string' || first instanceof Uint8Array;
  return making(items.length ** 2 * (isText ? 2 + traversal : 2));
};
overload(
  'list_slice lists_range list_reverse',
  ofResult((result) => making(weightOf(result))),
);
overload('list_flatten list_flatten_int', (args) => making(weight(args, 0) * depthOf(args[1])));
overload('list_distinct', (args) => comparisons(args[0]));
for (const type of [
  'bool',
  'bytes',
  'double',
  'int',
  'string',
  'uint',
  'google.protobuf.Duration',
  'google.protobuf.Timestamp',
]) {
  overload(`list_${type}_sort`, (args) => comparisons(args[0]));
  overload(`list_${type}_sortByAssociatedKeys`, (args) => comparisons(args[1]));
}
overload('list_sets_contains_list list_sets_intersects_list', (args) => 1 + weight(args, 0) * weight(args, 1));
overload('list_sets_equivalent_list', (args) => 1 + weight(args, 0) * weight(args, 1) * 2);
const one: CallCost = () => 1;
/** A sort whose overload is not known. */
const sorting: CallCost = Object.assign(() => 1, { itemsPerStep: 1 });

/** `overload` is empty where the checker left several possible. */
export function callCost(name: string, overloadId: string): CallCost {
  if (name === 'containsIP') return (args) => network(args, overloadId);
  if (name === 'containsCIDR') return (args) => network(args, overloadId) + scan(weight(args, 0)) + 1;
  if (name === 'sort' && overloadId === '') return sorting;
  return byName.get(name) ?? byOverload.get(overloadId) ?? one;
}
