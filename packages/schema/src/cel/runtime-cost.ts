import type { CelValue } from './values.ts';
import { CelMap, CelObject, CelOpaque, isList, weightOf } from './values.ts';

/** Factors of cel-go's cost model (`common/cost.go`). */
export const traversal = 0.1;
export const patternLength = 0.25;
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;

/** What a call costs beside its arguments, once its result is known. */
export type CallCost = (args: readonly CelValue[], result: CelValue) => number;

const weight = (args: readonly CelValue[], index: number): number => weightOf(args[index] as CelValue);
const scan = (size: number, factor = 1): number => Math.ceil(size * factor * traversal);
const scanFirst: CallCost = (args) => scan(weight(args, 0));
const scanSecond: CallCost = (args) => scan(weight(args, 1));
const scanTwice: CallCost = (args) => scan(weight(args, 0), 2);
const free: CallCost = () => 0;
const pattern: CallCost = (args) => scan(1 + weight(args, 0)) * Math.ceil(weight(args, 1) * patternLength);
const smaller: CallCost = (args) => scan(Math.min(weight(args, 0), weight(args, 1)));
const equality: CallCost = (args) => (args[0] instanceof CelOpaque ? 1 : smaller(args, null));
const isText = (value: CelValue): boolean => typeof value === 'string' || value instanceof Uint8Array;
const order: CallCost = (args) => (isText(args[0] as CelValue) ? smaller(args, null) : 1);
const joinTexts: CallCost = (args) => (isText(args[0] as CelValue) ? scan(weight(args, 0) + weight(args, 1)) : 1);
const convertText: CallCost = (args, result) =>
  args[0] instanceof Uint8Array !== result instanceof Uint8Array && isText(args[0] as CelValue) && isText(result)
    ? scan(weight(args, 0))
    : 1;
const network =
  (more: (size: number) => number): CallCost =>
  (args) =>
    scan(weight(args, 0) * 2) + more(weight(args, 0)) + (typeof args[1] === 'string' ? scan(weight(args, 1)) : 0);

const walk: CallCost = (args) => treeCost(args[0] as CelValue);
function treeCost(value: CelValue): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * traversal);
  if (value instanceof Uint8Array) return Math.floor(value.length * traversal);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + treeCost(item), 0);
  if (value instanceof CelMap) {
    let sum = 0;
    for (const [key, item] of value.entries()) sum += treeCost(key) + treeCost(item);
    return sum;
  }
  return value instanceof CelObject ? value.fields.size : 1;
}

/** Functions that do not simply cost 1 (cel-go `interpreter/runtimecost.go`, Kubernetes `library/cost.go`). */
const costs = new Map<string, CallCost>([
  ['_&&_', free],
  ['_||_', free],
  ['_?_:_', free],
  ['_==_', equality],
  ['_!=_', equality],
  ['_<_', order],
  ['_<=_', order],
  ['_>_', order],
  ['_>=_', order],
  ['_+_', joinTexts],
  ['string', convertText],
  ['bytes', convertText],
  ['@in', (args) => (isList(args[1] as CelValue) ? weight(args, 1) : 1)],
  ['contains', (args) => scan(weight(args, 0)) * scan(weight(args, 1))],
  ['startsWith', scanSecond],
  ['endsWith', scanSecond],
  ['format', scanFirst],
  ['strings.quote', scanFirst],
  ['matches', pattern],
  ['find', pattern],
  ['findAll', pattern],
  ['join', (_args, result) => scan(weightOf(result), 2)],
  ['replace', scanTwice],
  ['split', scanTwice],
  ['ip.isCanonical', scanTwice],
  ['ip', (args) => (typeof args[0] === 'string' ? scanFirst(args, null) : 1)],
  ['containsIP', network(() => 0)],
  ['containsCIDR', network((size) => scan(size) + 1)],
  ['validate', (args) => scan(1 + weight(args, 1)) * Math.ceil(weight(args, 0) * patternLength)],
  ['check', () => 350_000],
  [
    'fieldSelector',
    (args) => listCost + scan(weight(args, 1)) + Math.ceil(weight(args, 1) / 2) * (listCost + structCost),
  ],
]);
for (const name of ['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf', 'includes']) costs.set(name, walk);
for (const name of ['url', 'lowerAscii', 'upperAscii', 'substring', 'trim', 'jsonpatch.escapeKey', 'cidr', 'isIP'])
  costs.set(name, scanFirst);
for (const name of ['isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver']) costs.set(name, scanFirst);
costs.set('labelSelector', costs.get('fieldSelector') as CallCost);

/** Functions that make lists: the call and the list, and a walk over what they read or make. */
const making =
  (work: (args: readonly CelValue[], result: CelValue) => number): CallCost =>
  (args, result) =>
    1 + listCost + Math.floor(work(args, result));
const comparisons = (list: CelValue | undefined): number => {
  const items = list as readonly CelValue[];
  return items.length ** 2 * (items.length > 0 && isText(items[0] as CelValue) ? 2.1 : 2);
};
for (const name of ['slice', 'lists.range', 'reverse'])
  costs.set(
    name,
    making((_args, result) => weightOf(result)),
  );
costs.set(
  'flatten',
  making((args) => weight(args, 0) * Number(args[1] ?? 1n)),
);
costs.set(
  'distinct',
  making((args) => comparisons(args[0])),
);
costs.set(
  'sort',
  making((args) => comparisons(args[0])),
);
costs.set(
  '@sortByAssociatedKeys',
  making((args) => comparisons(args[1])),
);
for (const [name, factor] of [
  ['contains', 1],
  ['intersects', 1],
  ['equivalent', 2],
] as const)
  costs.set(`sets.${name}`, (args) => 1 + weight(args, 0) * weight(args, 1) * factor);
const one: CallCost = () => 1;

/** Their cost is known only when their work is done; all others are paid before. */
export const paidAfterwards = new Set(['join', 'slice', 'lists.range', 'reverse', 'string', 'bytes']);
export const callCost = (name: string): CallCost => costs.get(name) ?? one;
