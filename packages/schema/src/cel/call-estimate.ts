import { addRanges, ceiling, fixed, multiply, scale, unknownSize, type Range } from './cost-range.ts';
import { patternLength, traversal } from './runtime-cost.ts';
import { sameType, type CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** What the estimate of a call knows of an argument. */
export interface Operand {
  readonly type: CelType;
  readonly size: Range | undefined;
  readonly literal: CelValue | undefined;
  /** The size of the elements of a list. */
  itemSize(): Range;
}
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range | undefined;
}

type Estimator = (target: Operand | undefined, args: readonly Operand[], overload: string) => CallEstimate | undefined;

const sizeOf = (operand: Operand | undefined): Range => operand?.size ?? unknownSize;
const scan = (operand: Operand | undefined, factor = 1): Range => scale(sizeOf(operand), factor * traversal);
const one: CallEstimate = { cost: fixed(1) };
const scanArg: Estimator = (_target, args) => ({ cost: scan(args[0]) });
const scanTarget: Estimator = (target) => ({ cost: scan(target), size: sizeOf(target) });
/** A network address has 4 to 16 bytes. */
const addressBytes: Range = { min: 4, max: 16 };
const compareAddresses = scale(addRanges(addressBytes, addressBytes), traversal);

const pattern: Estimator = (target, args) => {
  const [text, expression] = target === undefined ? [args[0], args[1]] : [target, args[0]];
  const cost = multiply(scale(addRanges(sizeOf(text), fixed(1)), traversal), scale(sizeOf(expression), patternLength));
  return { cost };
};
const find: Estimator = (target, args, overload) => {
  const estimate = pattern(target, args, overload);
  return estimate && { ...estimate, size: { min: 0, max: sizeOf(target).max } };
};

/** Each element is looked at once; texts among them are walked over. */
const everyItem: Estimator = (target) => {
  if (target === undefined) return undefined;
  const item = target.type.params[0];
  if (item === undefined) return { cost: scan(target) };
  const each = item.kind === 'string' || item.kind === 'bytes' ? scale(target.itemSize(), traversal) : fixed(0);
  return { cost: multiply(sizeOf(target), addRanges(fixed(1), each)) };
};

/** What is compared of two values of a library: the texts of URLs and formats, and nothing of the others that has a size. */
function comparedSize(operand: Operand): number {
  if (operand.type.name === 'kubernetes.NamedFormat') return maxFormatSize;
  return operand.type.name === 'kubernetes.URL' ? (operand.size?.max ?? 1) : 1;
}
const maxFormatSize = 64;

const relation: Estimator = (_target, args, overload) => {
  const scalar = /^(?:less|greater)/.test(overload) && !/_(?:string|bytes)$/.test(overload);
  if (scalar) return one;
  const [left, right] = args as readonly [Operand, Operand];
  const isOfLibrary = left.type.kind === 'opaque' && left.type.name.includes('.');
  if (overload === 'equals' && isOfLibrary && sameType(left.type, right.type))
    return { cost: scale({ min: 1, max: comparedSize(right) }, traversal) };
  const max = Math.min(sizeOf(left).max, sizeOf(right).max);
  return { cost: scale({ min: max > 0 ? 1 : 0, max }, traversal) };
};

const add: Estimator = (_target, args, overload) => {
  const size = addRanges(sizeOf(args[0]), sizeOf(args[1]));
  if (/string|bytes/.test(overload)) return { cost: scale(size, traversal), size };
  return overload.includes('list') ? { ...one, size } : one;
};

const replace: Estimator = (target, args) => {
  const [text, old, by] = [sizeOf(target), sizeOf(args[0]), sizeOf(args[1])];
  const count = { min: 0, max: 0 };
  const kept = { min: 0, max: 0 };
  if (old.min === 0) [count.max, kept.max] = [text.max + 1, text.max];
  else if (by.max <= old.min) kept.max = text.max;
  else count.max = Math.ceil(text.max / old.min);
  if (old.max === 0) [count.min, kept.min] = [text.min + 1, text.min];
  else if (old.max <= by.min) kept.min = text.min;
  else count.min = Math.ceil(text.min / old.max);
  return { cost: scan(target, 2), size: addRanges(multiply(count, by), kept) };
};

const split: Estimator = (target, args) => {
  const limit = args[1]?.literal;
  const max = typeof limit === 'bigint' ? (limit < 0n ? ceiling : Number(limit)) : sizeOf(target).max;
  return { cost: scan(target, 2), size: { min: 0, max } };
};

const join: Estimator = (target, args) => {
  const list = sizeOf(target);
  // Of a list that is dyn nothing is counted but the separators.
  const items = target === undefined || target.type.params.length === 0 ? fixed(0) : target.itemSize();
  const gaps = { min: Math.max(list.min - 1, 0), max: Math.max(list.max - 1, 0) };
  const separators = args[0] === undefined ? fixed(0) : multiply(sizeOf(args[0]), gaps);
  const size = addRanges(multiply(list, items), separators);
  return { cost: scale(size, traversal), size };
};

const containsAddress =
  (more: Range): Estimator =>
  (_target, args, overload) => ({
    cost: addRanges(compareAddresses, more, overload.endsWith('_string') ? scan(args[0]) : fixed(0)),
  });

/** Functions that make lists: the call and the list, and work in proportion to `size`. */
const making = (size: Range, factor: number): CallEstimate => ({
  cost: addRanges(scale(size, factor), fixed(11)),
  size,
});
const literalCount = (operand: Operand | undefined, otherwise: number): number => {
  const value = operand?.literal;
  return typeof value === 'bigint' ? Math.max(Number(value), 0) : otherwise;
};
/** Below zero an amount is an overflow. */
const wrapped = (amount: number): number => (amount < 0 ? ceiling + amount : amount);
const sliced: Estimator = (target, args) =>
  making(fixed(wrapped(literalCount(args[1], sizeOf(target).max) - literalCount(args[0], 0))), 1);
const flattened: Estimator = (target, args) =>
  making(sizeOf(target), args.length === 0 ? 1 : literalCount(args[0], ceiling));
const compared = (list: Operand | undefined, overload = ''): CallEstimate =>
  making(multiply(sizeOf(list), sizeOf(list)), /^list_(?:string|bytes)_/.test(overload) ? 2 + traversal : 2);
const setRelation =
  (factor: number): Estimator =>
  (_target, args) => ({ cost: addRanges(scale(multiply(sizeOf(args[0]), sizeOf(args[1])), factor), fixed(1)) });

/** Estimates beside the arguments' own cost (cel-go `checker/cost.go`, Kubernetes `library/cost.go`). */
const estimators = new Map<string, Estimator>([
  ['contains', (target, args) => ({ cost: multiply(scan(target), scan(args[0])) })],
  ['startsWith', scanArg],
  ['endsWith', scanArg],
  ['matches', (target, args, overload) => (target === undefined ? one : pattern(target, args, overload))],
  ['format', (target) => ({ cost: scan(target) })],
  [
    'strings.quote',
    (_target, args) => ({
      cost: scan(args[0]),
      // cel-go's sum overflows for what has no limit.
      size: { min: sizeOf(args[0]).min + 2, max: sizeOf(args[0]).max < ceiling ? sizeOf(args[0]).max * 2 + 2 : 0 },
    }),
  ],
  ['@in', (_target, args, overload) => (overload === 'in_list' ? { cost: scale(sizeOf(args[1]), 1) } : one)],
  [
    'bytes',
    (_target, args, overload) =>
      overload === 'string_to_bytes'
        ? { cost: scan(args[0]), size: { min: sizeOf(args[0]).min, max: Math.min(sizeOf(args[0]).max * 4, ceiling) } }
        : one,
  ],
  [
    'string',
    (_target, args, overload) =>
      overload === 'bytes_to_string'
        ? { cost: scan(args[0]), size: { min: Math.floor(sizeOf(args[0]).min / 4), max: sizeOf(args[0]).max } }
        : one,
  ],
  ['_+_', add],
  ['find', find],
  ['findAll', find],
  ['replace', replace],
  ['split', split],
  ['join', join],
  ['ip', (_target, args, overload) => (overload === 'cidr_ip' ? one : { cost: scan(args[0]) })],
  ['ip.isCanonical', (_target, args) => ({ cost: scan(args[0], 2) })],
  ['containsIP', containsAddress(fixed(0))],
  ['containsCIDR', containsAddress(addRanges(scale(addressBytes, traversal), fixed(1)))],
  ['url', (_target, args) => ({ cost: scan(args[0]), size: sizeOf(args[0]) })],
  ['jsonpatch.escapeKey', (_target, args) => ({ cost: scan(args[0]), size: sizeOf(args[0]) })],
  ['validate', (_target, args) => ({ cost: scale(scan(args[0]), 128 * patternLength) })],
  ['check', () => ({ cost: fixed(350_000) })],
  ['slice', sliced],
  ['flatten', flattened],
  ['reverse', (target) => making(sizeOf(target), 1)],
  ['distinct', (target) => compared(target)],
  ['sort', (target, _args, overload) => compared(target, overload)],
  ['@sortByAssociatedKeys', (_target, args, overload) => compared(args[0], overload)],
  ['lists.range', (_target, args) => making(fixed(literalCount(args[0], ceiling)), 1)],
  ['sets.contains', setRelation(1)],
  ['sets.intersects', setRelation(1)],
  ['sets.equivalent', setRelation(2)],
]);
for (const name of ['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf']) estimators.set(name, everyItem);
for (const name of ['lowerAscii', 'upperAscii', 'substring', 'trim']) estimators.set(name, scanTarget);
for (const name of ['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'])
  estimators.set(name, scanArg);
for (const name of ['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_']) estimators.set(name, relation);

export function estimateCall(
  name: string,
  overload: string,
  target: Operand | undefined,
  args: readonly Operand[],
): CallEstimate {
  return estimators.get(name)?.(target, args, overload) ?? one;
}
