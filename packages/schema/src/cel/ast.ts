import type { Overload } from './function-declaration.ts';
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

interface Node {
  /** Offset in the source, in UTF-16 units, that messages point to. */
  readonly at: number;
  /** Set by the checker. */
  type?: CelType;
}
export interface ConstExpr extends Node {
  readonly kind: 'const';
  readonly value: CelValue;
}
export interface IdentExpr extends Node {
  readonly kind: 'ident';
  name: string;
  /** Set by the checker when the name is that of a type or an enum value. */
  constant?: CelValue;
}
export interface SelectExpr extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  readonly testOnly: boolean;
  /** Set by the checker: the whole chain is the name of a variable or type. */
  resolved?: IdentExpr;
}
export interface CallExpr extends Node {
  readonly kind: 'call';
  fn: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  /** What the checker allows this call to be; undefined: not checked. */
  overloads?: readonly Overload[];
}
export interface ListExpr extends Node {
  readonly kind: 'list';
  readonly items: readonly { readonly value: Expr; readonly optional: boolean }[];
}
export interface MapExpr extends Node {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly optional: boolean }[];
}
export interface StructExpr extends Node {
  readonly kind: 'struct';
  name: string;
  readonly fields: readonly {
    readonly name: string;
    readonly value: Expr;
    readonly optional: boolean;
    readonly at: number;
  }[];
}
/** A comprehension, as macros make it: folds a list or map into an accumulator. */
export interface FoldExpr extends Node {
  readonly kind: 'fold';
  readonly range: Expr;
  readonly variable: string;
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}
export type Expr = ConstExpr | IdentExpr | SelectExpr | CallExpr | ListExpr | MapExpr | StructExpr | FoldExpr;

/** The names of operators as functions. */
export const operators = {
  and: '_&&_',
  or: '_||_',
  not: '!_',
  negate: '-_',
  conditional: '_?_:_',
  equals: '_==_',
  notEquals: '_!=_',
  less: '_<_',
  lessEquals: '_<=_',
  greater: '_>_',
  greaterEquals: '_>=_',
  add: '_+_',
  subtract: '_-_',
  multiply: '_*_',
  divide: '_/_',
  modulo: '_%_',
  index: '_[_]',
  optIndex: '_[?_]',
  optSelect: '_?._',
  in: '@in',
  notStrictlyFalse: '@not_strictly_false',
} as const;
/** The accumulator of macros: no name that an expression can contain. */
export const accumulator = '@result';

/** The parts of an expression. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return expr.resolved === undefined ? [expr.operand] : [expr.resolved];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.items.map((item) => item.value);
    case 'map':
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'struct':
      return expr.fields.map((field) => field.value);
    case 'fold':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** `a.b.c`, if the expression is nothing but that. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}
