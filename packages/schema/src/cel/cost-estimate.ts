import { runeCount } from '../go-text.ts';
import { accumulator, operators, type CallExpr, type Expr, type FoldExpr, type ListExpr, type MapExpr } from './ast.ts';
import { addRanges, ceiling, fixed, multiply, union, unknownSize, type Range } from './cost-range.ts';
import { estimateCall, type Operand } from './call-estimate.ts';
import { listCost, mapCost, structCost } from './runtime-cost.ts';
import { isOptional, type CelType } from './types.ts';

/** How large the value at a path of the variables can be; undefined: not known. */
export type SizeOf = (path: readonly string[]) => number | undefined;

/** Sizes of keys and values of a list or map that an expression makes. */
interface Entries {
  readonly isList: boolean;
  readonly key: Range;
  readonly value: Range;
}
interface Local {
  readonly path: readonly string[] | undefined;
  readonly size: Range | undefined;
  readonly entries: Entries | undefined;
}

/**
 * What evaluating a checked expression may cost (cel-go `checker/cost.go`), from the sizes that schemas allow. A walk
 * over the tree; for each part it keeps the place in the object that it denotes, and its size if that is known.
 */
export function estimateCost(expr: Expr, sizeOf: SizeOf): Range {
  return new CostEstimator(sizeOf).cost(expr);
}

class CostEstimator {
  readonly #sizeOf: SizeOf;
  /** Macros may use a part twice. */
  readonly #costs = new Map<Expr, Range>();
  readonly #paths = new Map<Expr, readonly string[]>();
  readonly #sizes = new Map<Expr, Range>();
  readonly #entries = new Map<Expr, Entries>();
  readonly #locals = new Map<string, Local[]>();

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf;
  }

  cost(expr: Expr): Range {
    let cost = this.#costs.get(expr);
    if (cost === undefined) {
      cost = this.#cost(expr);
      this.#costs.set(expr, cost);
    }
    return cost;
  }

  #cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'const':
        return fixed(0);
      case 'ident':
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name]);
        return fixed(1);
      case 'select': {
        if (expr.resolved !== undefined) return this.cost(expr.resolved);
        const operand = this.cost(expr.operand);
        if (expr.testOnly) return operand;
        const kind = (expr.operand.type as CelType).kind;
        this.#paths.set(expr, [...(this.#path(expr.operand) ?? []), expr.field]);
        return kind === 'map' || kind === 'struct' || kind === 'param' ? addRanges(operand, fixed(1)) : operand;
      }
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return addRanges(fixed(structCost), ...expr.fields.map((field) => this.cost(field.value)));
      case 'fold':
        return this.#isBind(expr) ? this.#bind(expr) : this.#fold(expr);
    }
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }
  #push(name: string, local: Local): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [local]);
    else known.push(local);
  }
  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #path(expr: Expr): readonly string[] | undefined {
    if (expr.kind === 'ident') {
      const local = this.#local(expr.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expr);
  }

  #size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? literalSize(expr);
    if (known !== undefined) return known;
    const path = this.#path(expr);
    if (path !== undefined && path.length > 0 && path[0] !== accumulator) {
      const max = this.#sizeOf(path);
      if (max !== undefined) {
        const size = { min: 0, max };
        this.#sizes.set(expr, size);
        return size;
      }
    }
    if (isScalar(expr.type as CelType)) return fixed(1);
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined;
  }
  #sizeOrUnknown(expr: Expr): Range {
    return this.#size(expr) ?? unknownSize;
  }
  #entriesOf(expr: Expr): Entries | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined);
  }

  #operand(expr: Expr): Operand {
    const path = this.#path(expr);
    const place = path?.[0] === accumulator ? undefined : path;
    return {
      type: expr.type as CelType,
      size: this.#size(expr),
      literal: expr.kind === 'const' ? expr.value : undefined,
      itemSize: () => {
        const max = place === undefined || place.length === 0 ? undefined : this.#sizeOf([...place, '@items']);
        return max === undefined ? unknownSize : { min: 0, max };
      },
    };
  }

  #call(expr: CallExpr): Range {
    if (expr.fn === 'dyn' && expr.args[0] !== undefined) {
      const cost = this.cost(expr.args[0]);
      const size = this.#size(expr.args[0]);
      if (size !== undefined) this.#sizes.set(expr, size);
      return addRanges(fixed(1), cost);
    }
    const costs = expr.args.map((arg) => this.cost(arg));
    const target = expr.target === undefined ? fixed(0) : this.cost(expr.target);
    const [first, second, third] = costs as [Range, Range, Range];
    switch (expr.fn) {
      case operators.and:
      case operators.or:
        return { min: first.min, max: addRanges(first, second).max };
      case operators.conditional: {
        const [, yes, no] = expr.args as [Expr, Expr, Expr];
        this.#sizes.set(expr, union(this.#sizeOrUnknown(yes), this.#sizeOrUnknown(no)));
        this.#keepEntries(expr, yes, no);
        return addRanges(first, union(second, third));
      }
      default:
    }
    let cost: Range = { min: ceiling, max: 0 };
    let size: Range | undefined;
    const receiver = expr.target === undefined ? undefined : this.#operand(expr.target);
    const args = expr.args.map((arg) => this.#operand(arg));
    for (const overload of expr.overloads ?? []) {
      const estimate = estimateCall(expr.fn, overload.id, receiver, args);
      cost = union(cost, addRanges(estimate.cost, ...costs));
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : union(size, estimate.size);
      size = this.#indexed(expr, overload.id) ?? size;
    }
    if (cost.min > cost.max) cost = addRanges(fixed(1), ...costs);
    if (expr.fn === operators.add) this.#keepEntries(expr, ...(expr.args as [Expr, Expr]));
    size ??= this.#size(expr);
    if (size !== undefined) this.#sizes.set(expr, size);
    return addRanges(target, cost);
  }

  /** An element of a list or map stands at a place of its own. */
  #indexed(expr: CallExpr, overload: string): Range | undefined {
    const part = overload === 'index_list' ? '@items' : overload === 'index_map' ? '@values' : undefined;
    const container = expr.args[0];
    if (part === undefined || container === undefined) return undefined;
    this.#paths.set(expr, [...(this.#path(container) ?? []), part]);
    return this.#entriesOf(container)?.value;
  }

  #keepEntries(expr: Expr, left: Expr, right: Expr): void {
    const [a, b] = [this.#entriesOf(left), this.#entriesOf(right)];
    if (a === undefined || b === undefined) return;
    this.#entries.set(expr, { isList: a.isList, key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  #joined(items: readonly Expr[]): Range {
    let size: Range = { min: items.length === 0 ? 0 : ceiling, max: 0 };
    for (const item of items) size = union(size, this.#sizeOrUnknown(item));
    return size;
  }
  #list(expr: ListExpr): Range {
    const items = expr.items.map((item) => item.value);
    const cost = addRanges(fixed(listCost), ...items.map((item) => this.cost(item)));
    this.#entries.set(expr, { isList: true, key: fixed(1), value: this.#joined(items) });
    return cost;
  }
  #map(expr: MapExpr): Range {
    const cost = addRanges(
      fixed(mapCost),
      ...expr.entries.flatMap((entry) => [this.cost(entry.key), this.cost(entry.value)]),
    );
    const key = this.#joined(expr.entries.map((entry) => entry.key));
    const value = this.#joined(expr.entries.map((entry) => entry.value));
    this.#entries.set(expr, { isList: false, key, value });
    return cost;
  }

  #isBind(expr: FoldExpr): boolean {
    return (
      expr.range.kind === 'list' &&
      expr.range.items.length === 0 &&
      expr.condition.kind === 'const' &&
      expr.condition.value === false &&
      expr.accumulator !== accumulator
    );
  }
  #bound(expr: Expr): Local {
    return { path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr) };
  }
  #bind(expr: FoldExpr): Range {
    const before = addRanges(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#bound(expr.init));
    const result = this.cost(expr.result);
    const size = this.#size(expr.result);
    if (size !== undefined) this.#sizes.set(expr, size);
    const entries = this.#entriesOf(expr.result);
    if (entries !== undefined) this.#entries.set(expr, entries);
    this.#pop(expr.accumulator);
    return addRanges(before, result);
  }

  #fold(expr: FoldExpr): Range {
    const before = addRanges(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accumulator, this.#bound(expr.init));
    const entries = this.#entriesOf(expr.range);
    const isList = entries?.isList ?? (expr.range.type as CelType).kind === 'list';
    const path = this.#path(expr.range) ?? [];
    const variable = (part: string, size: Range | undefined): Local => ({
      path: [...path, part],
      size,
      entries: undefined,
    });
    const value = variable(isList ? '@items' : '@values', entries?.value);
    const key = variable(isList ? '@indices' : '@keys', entries?.key);
    if (expr.variable2 === undefined) this.#push(expr.variable, isList ? value : key);
    else {
      this.#push(expr.variable, key);
      this.#push(expr.variable2, value);
    }
    const loop = addRanges(this.cost(expr.condition), this.cost(expr.step));
    this.#pop(expr.variable);
    if (expr.variable2 !== undefined) this.#pop(expr.variable2);
    const result = this.cost(expr.result);
    this.#pop(expr.accumulator);
    const count = this.#sizeOrUnknown(expr.range);
    if (expr.init.kind === 'const') {
      const size = this.#size(expr.init);
      if (size !== undefined) this.#sizes.set(expr, size);
    } else {
      this.#sizes.set(expr, count);
      const made = this.#entriesOf(expr.step);
      if (made !== undefined) this.#entries.set(expr, made);
    }
    return addRanges(before, result, multiply(count, loop));
  }
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return fixed(expr.items.length);
  if (expr.kind === 'map') return fixed(expr.entries.length);
  if (expr.kind !== 'const') return undefined;
  if (typeof expr.value === 'string') return fixed(runeCount(expr.value));
  return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1);
}

function isScalar(type: CelType): boolean {
  if (isOptional(type)) return isScalar(type.params[0] as CelType);
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind);
}
