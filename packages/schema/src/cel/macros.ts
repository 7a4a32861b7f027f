import { accumulator, operators, type CallExpr, type Expr, type FoldExpr } from './ast.ts';
import type { CelValue } from './values.ts';

export interface MacroHost {
  report(at: number, message: string): void;
}

type Expander = (call: CallExpr, target: Expr, at: number, host: MacroHost) => Expr | undefined;

/**
 * Replaces the call of a macro by what it stands for (cel-go `parser/macro.go`, `cel/macro.go`, `ext/comprehensions.go`).
 * Other calls come back as they are.
 */
export function expandMacro(call: CallExpr, host: MacroHost): Expr {
  const { target, fn, args } = call;
  if (target === undefined) return fn === 'has' && args.length === 1 ? has(call, host) : call;
  const expand = members.get(`${fn}/${args.length}`);
  return expand?.(call, target, call.at, host) ?? call;
}

function has(call: CallExpr, host: MacroHost): Expr {
  const arg = call.args[0] as Expr;
  if (arg.kind === 'select' && !arg.testOnly) return { ...arg, testOnly: true, at: call.at };
  host.report(arg.at, 'invalid argument to has() macro');
  return arg;
}

const literal = (at: number, value: CelValue): Expr => ({ kind: 'const', at, value });
const ident = (at: number, name: string): Expr => ({ kind: 'ident', at, name });
const accu = (at: number): Expr => ident(at, accumulator);
const apply = (at: number, fn: string, ...args: Expr[]): Expr => ({ kind: 'call', at, fn, target: undefined, args });
const listOf = (at: number, ...items: Expr[]): Expr => ({
  kind: 'list',
  at,
  items: items.map((value) => ({ value, optional: false })),
});

interface Loop {
  readonly init: Expr;
  readonly condition?: Expr;
  readonly step: Expr;
  readonly result?: Expr;
}
const noIdentifier = 'argument is not an identifier';
/** Names of the variables of a loop; undefined (and a report): they are none. */
function variables(
  args: readonly Expr[],
  count: number,
  host: MacroHost,
  problem = 'argument must be a simple name',
): readonly string[] | undefined {
  const names: string[] = [];
  for (const arg of args.slice(0, count)) {
    if (arg.kind !== 'ident' || arg.name.startsWith('.')) {
      host.report(arg.at, problem);
      return undefined;
    }
    if (arg.name === accumulator || arg.name === '__result__') {
      host.report(arg.at, 'iteration variable overwrites accumulator variable');
      return undefined;
    }
    if (names.includes(arg.name)) {
      host.report(arg.at, `duplicate variable name: ${arg.name}`);
      return undefined;
    }
    names.push(arg.name);
  }
  return names;
}

const fold = (at: number, range: Expr, names: readonly string[], loop: Loop): FoldExpr => ({
  kind: 'fold',
  at,
  range,
  variable: names[0] as string,
  variable2: names[1],
  accumulator,
  init: loop.init,
  condition: loop.condition ?? literal(at, true),
  step: loop.step,
  result: loop.result ?? accu(at),
});

/** A macro with `count` variables; `make` sees the arguments after them. */
const looping =
  (count: number, make: (args: readonly Expr[], at: number) => Loop, problem?: string): Expander =>
  (call, target, at, host) => {
    const names = variables(call.args, count, host, problem);
    return names === undefined ? undefined : fold(at, target, names, make(call.args.slice(count), at));
  };

const all = (args: readonly Expr[], at: number): Loop => ({
  init: literal(at, true),
  condition: apply(at, operators.notStrictlyFalse, accu(at)),
  step: apply(at, operators.and, accu(at), args[0] as Expr),
});
const exists = (args: readonly Expr[], at: number): Loop => ({
  init: literal(at, false),
  condition: apply(at, operators.notStrictlyFalse, apply(at, operators.not, accu(at))),
  step: apply(at, operators.or, accu(at), args[0] as Expr),
});
const existsOne = (args: readonly Expr[], at: number): Loop => ({
  init: literal(at, 0n),
  step: apply(
    at,
    operators.conditional,
    args[0] as Expr,
    apply(at, operators.add, accu(at), literal(at, 1n)),
    accu(at),
  ),
  result: apply(at, operators.equals, accu(at), literal(at, 1n)),
});
/** With two arguments the first one filters. */
const filtered = (args: readonly Expr[], at: number, step: (last: Expr) => Expr): Expr =>
  args.length === 1
    ? step(args[0] as Expr)
    : apply(at, operators.conditional, args[0] as Expr, step(args[1] as Expr), accu(at));
const append = (args: readonly Expr[], at: number): Loop => ({
  init: listOf(at),
  step: filtered(args, at, (item) => apply(at, operators.add, accu(at), listOf(at, item))),
});
const filter: Expander = (call, target, at, host) => {
  const names = variables(call.args, 1, host, noIdentifier);
  const variable = call.args[0] as Expr;
  if (names === undefined) return undefined;
  const item = ident(variable.at, names[0] as string);
  return fold(at, target, names, append([call.args[1] as Expr, item], at));
};
const emptyMap = (at: number): Expr => ({ kind: 'map', at, entries: [] });

/** `x.optMap(v, e)`: `v` is bound by a fold over nothing. */
const optional =
  (wrap: (at: number, expr: Expr) => Expr): Expander =>
  (call, target, at, host) => {
    const name = call.args[0] as Expr;
    if (name.kind !== 'ident') {
      host.report(name.at, `${call.fn}() variable name must be a simple identifier`);
      return undefined;
    }
    const method = (fn: string): Expr => ({ kind: 'call', at, fn, target, args: [] });
    const bound: Expr = {
      kind: 'fold',
      at,
      range: listOf(at),
      variable: '#unused',
      variable2: undefined,
      accumulator: name.name,
      init: method('value'),
      condition: literal(at, false),
      step: ident(at, name.name),
      result: call.args[1] as Expr,
    };
    return apply(at, operators.conditional, method('hasValue'), wrap(at, bound), apply(at, 'optional.none'));
  };

const members = new Map<string, Expander>([
  ['all/2', looping(1, all)],
  ['exists/2', looping(1, exists)],
  ['exists_one/2', looping(1, existsOne)],
  ['map/2', looping(1, append, noIdentifier)],
  ['map/3', looping(1, append, noIdentifier)],
  ['filter/2', filter],
  ['all/3', looping(2, all)],
  ['exists/3', looping(2, exists)],
  ['exists_one/3', looping(2, existsOne)],
  ['existsOne/3', looping(2, existsOne)],
  ['transformList/3', looping(2, append)],
  ['transformList/4', looping(2, append)],
]);
for (const count of [1, 2]) {
  const insert = (fn: (at: number, args: Expr) => Expr) =>
    looping(2, (args, at) => ({ init: emptyMap(at), step: filtered(args, at, (value) => fn(at, value)) }));
  const entries = insert((at, value) => apply(at, 'cel.@mapInsert', accu(at), value));
  members.set(`transformMapEntry/${count + 2}`, entries);
  members.set(`transformMap/${count + 2}`, (call, target, at, host) => {
    const names = variables(call.args, 2, host);
    if (names === undefined) return undefined;
    const step = (value: Expr): Expr => apply(at, 'cel.@mapInsert', accu(at), ident(at, names[0] as string), value);
    const args = call.args.slice(2);
    return fold(at, target, names, { init: emptyMap(at), step: filtered(args, at, step) });
  });
}
members.set('sortBy/2', (call, target, at, host) => {
  const names = variables(call.args, 1, host, noIdentifier);
  if (names === undefined) return undefined;
  const input = '@__sortBy_input__';
  const keys = fold(at, ident(at, input), names, append(call.args.slice(1), at));
  return {
    kind: 'fold',
    at,
    range: listOf(at),
    variable: '#unused',
    variable2: undefined,
    accumulator: input,
    init: target,
    condition: literal(at, false),
    step: ident(at, input),
    result: { kind: 'call', at, fn: '@sortByAssociatedKeys', target: ident(at, input), args: [keys] },
  };
});
members.set(
  'optMap/2',
  optional((at, expr) => apply(at, 'optional.of', expr)),
);
members.set(
  'optFlatMap/2',
  optional((_at, expr) => expr),
);
