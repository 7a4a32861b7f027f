import {
  accumulator,
  operators,
  type CallExpr,
  type Expr,
  type FoldExpr,
  type ListExpr,
  type MapExpr,
  type StructExpr,
} from './ast.ts';
import { CelCostError, CelError, noSuchOverload, OutOfPatience } from './cel-error.ts';
import type { CelEnvironment } from './environment.ts';
import type { CelFunction, Overload } from './function-declaration.ts';
import { patternProblem } from '../regex.ts';
import { regexCalls, type RegexCall } from './regex-library.ts';
import { maxInlineSteps, WorkBudget, WorkBudgetExceeded } from '../work-budget.ts';
import { callCost, type CallCost, listCost, mapCost, paidAfterwards, structCost } from './runtime-cost.ts';
import { indexValue, lookup } from './standard-library.ts';
import { goTypeOf, typeOfValue, valueFits } from './standard-types.ts';
import { StructFields } from './struct-fields.ts';
import { CelMap, CelObject, CelOptional, isList, optionalNone, type CelValue } from './values.ts';

/** What an evaluation works on: the values of variables, and what it has cost so far. */
export class Frame {
  /** By the slots that the compiler gave out. An accumulator may hold an error. */
  readonly slots: (CelValue | CelError | undefined)[];
  readonly limit: number;
  cost = 0;
  /** Of the cost, what stands for answers that others give: no work is done for it here. */
  answers = 0;
  /** Where the evaluation ends: at the limit, or when the patience for work is over. */
  stop: number;
  readonly #patience: number;
  /** For work that is not in proportion to its cost. */
  readonly budget: WorkBudget;
  constructor(
    slots: (CelValue | CelError | undefined)[],
    limit: number,
    patience = Number.POSITIVE_INFINITY,
    budget = new WorkBudget({ steps: maxInlineSteps }),
  ) {
    this.slots = slots;
    this.budget = budget;
    this.limit = limit;
    this.#patience = patience;
    this.stop = Math.min(limit, patience);
  }

  /** Adds the cost of an answer. */
  chargeAnswer(cost: number): void {
    this.answers += cost;
    this.stop = Math.min(this.limit, this.#patience + this.answers);
    charge(this, cost);
  }
}
export type Step = (frame: Frame) => CelValue;

/** Adds to the cost; ends the evaluation when it is too much. */
function charge(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.stop) throw frame.cost > frame.limit ? new CelCostError() : new OutOfPatience();
}

/** A call of a function of regular expressions: paid by its cost, and within the budget for work. */
function searching(call: RegexCall, steps: readonly Step[], cost: CallCost): Step {
  return (frame) => {
    const values = steps.map((step) => step(frame));
    const [text, pattern, limit] = values;
    if (typeof text !== 'string' || typeof pattern !== 'string' || !(limit === undefined || typeof limit === 'bigint'))
      throw noSuchOverload();
    charge(frame, cost(values, null));
    try {
      return call(frame.budget, text, pattern, limit);
    } catch (error) {
      if (error instanceof WorkBudgetExceeded) throw new CelCostError();
      throw error;
    }
  };
}

/**
 * Turns an expression into closures, one per part, that evaluate it against a {@link Frame}. Variables have slots,
 * given out here. Costs are charged as cel-go's tracker does it: 1 for a variable and for every selection, 10 and 30
 * for making a list and a map, calls by {@link callCost}. A comprehension over lists appends to the accumulator that it
 * alone holds.
 */
export class Compiler {
  /** Slots of the variables that the expression reads. */
  readonly globals = new Map<string, number>();
  readonly #environment: CelEnvironment;
  /** Macros may use a part twice. */
  readonly #steps = new Map<Expr, Step>();
  readonly #locals: Map<string, number>[] = [];
  #slots = 0;
  #problem: string | undefined;

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }
  get slotCount(): number {
    return this.#slots;
  }
  /** Why cel-go's planner, which folds conversions of constants and compiles constant patterns, refuses the expression. */
  get problem(): string | undefined {
    return this.#problem;
  }

  compile(expr: Expr): Step {
    const known = this.#steps.get(expr);
    if (known !== undefined) return known;
    const step = this.#compile(expr);
    const best = this.#isConstant(expr) ? this.#precomputed(step) : step;
    this.#steps.set(expr, best);
    return best;
  }

  /** A constant that cannot be made fails where it is needed, and is a {@link problem}. */
  #precomputed(step: Step): Step {
    try {
      const value = step(new Frame([], Infinity));
      return () => value;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.#problem ??= error.message;
      return step;
    }
  }

  /**
   * Whether the value is known beforehand, and costs nothing: literals, lists and maps of them, and their conversions
   * (what cel-go's optimizer folds).
   */
  #isConstant(expr: Expr): boolean {
    switch (expr.kind) {
      case 'const':
        return true;
      case 'list':
        return expr.items.every((item) => !item.optional && this.#isConstant(item.value));
      case 'map':
        return expr.entries.every(
          (entry) => !entry.optional && this.#isConstant(entry.key) && this.#isConstant(entry.value),
        );
      case 'call': {
        const [arg, more] = expr.args;
        if (expr.target !== undefined || arg === undefined || more !== undefined) return false;
        return conversions.has(expr.fn) && this.#isConstant(arg);
      }
      default:
        return false;
    }
  }

  #compile(expr: Expr): Step {
    switch (expr.kind) {
      case 'const': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return expr.constant === undefined ? this.#variable(expr.name) : constant(expr.constant);
      case 'select':
        return expr.resolved === undefined
          ? this.#select(expr.operand, expr.field, expr.testOnly)
          : this.compile(expr.resolved);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'fold':
        return this.#fold(expr);
      case 'struct':
        return this.#struct(expr);
    }
  }

  #slot(scope: Map<string, number>, name: string): number {
    const slot = this.#slots++;
    scope.set(name, slot);
    return slot;
  }

  #localSlot(name: string): number | undefined {
    for (let index = this.#locals.length - 1; index >= 0; index--) {
      const slot = (this.#locals[index] as Map<string, number>).get(name);
      if (slot !== undefined) return slot;
    }
    return undefined;
  }

  #variable(name: string): Step {
    const slot = this.#localSlot(name) ?? this.globals.get(name) ?? this.#slot(this.globals, name);
    return (frame) => {
      charge(frame, 1);
      const value = frame.slots[slot];
      if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
      if (value instanceof CelError) throw value;
      return value;
    };
  }

  #select(operand: Expr, field: string, testOnly: boolean): Step {
    const of = this.compile(operand);
    if (testOnly) return (frame) => hasField(of(frame), field);
    return (frame) => {
      const value = of(frame);
      charge(frame, 1);
      return selectField(value, field);
    };
  }

  #call(expr: CallExpr): Step {
    const args = (expr.target === undefined ? expr.args : [expr.target, ...expr.args]) as [Expr, Expr, Expr, ...Expr[]];
    switch (expr.fn) {
      case operators.and:
        return logical(this.compile(args[0]), this.compile(args[1]), false);
      case operators.or:
        return logical(this.compile(args[0]), this.compile(args[1]), true);
      case operators.conditional:
        return conditional(this.compile(args[0]), this.compile(args[1]), this.compile(args[2]));
      case operators.notStrictlyFalse:
        return notStrictlyFalse(this.compile(args[0]));
      case operators.index:
        return this.#index(args[0], args[1], (value, key) => throughOptional(value, key) ?? indexValue(value, key));
      case operators.optIndex:
      case operators.optSelect:
        return this.#index(args[0], args[1], optionalLookup);
      case operators.add:
        if (args[0].kind === 'ident' && args[0].name === accumulator && args[1].kind === 'list') {
          return this.#append(args[1]);
        }
        break;
      case 'or':
      case 'orValue':
        if (expr.target !== undefined && expr.args.length === 1) return this.#optionalOr(expr, args[0], args[1]);
        break;
      default:
    }
    return this.#apply(expr, args);
  }

  #index(operand: Expr, key: Expr, read: (operand: CelValue, key: CelValue) => CelValue): Step {
    const of = this.compile(operand);
    const by = this.compile(key);
    return (frame) => {
      const value = of(frame);
      const at = by(frame);
      charge(frame, 1);
      return read(value, at);
    };
  }

  #optionalOr(expr: CallExpr, left: Expr, right: Expr): Step {
    const first = this.compile(left);
    const second = this.compile(right);
    return (frame) => {
      const value = first(frame);
      charge(frame, 1);
      if (!(value instanceof CelOptional)) throw noSuchOverload();
      if (value.value === undefined) return second(frame);
      return expr.fn === 'or' ? value : value.value;
    };
  }

  /** `accumulator + [item]` within a comprehension. */
  #append(list: ListExpr): Step {
    const accu = this.#variable(accumulator);
    const items = this.compile(list);
    return (frame) => {
      const into = accu(frame) as CelValue[];
      into.push(...(items(frame) as CelValue[]));
      charge(frame, 1);
      return into;
    };
  }

  #apply(expr: CallExpr, args: readonly Expr[]): Step {
    const member = expr.target !== undefined;
    const overloads =
      expr.overloads ??
      (this.#environment.functions.get(expr.fn) ?? []).filter(
        (overload) => overload.member === member && overload.args.length === args.length,
      );
    const steps = args.map((arg) => this.compile(arg));
    const cost = callCost(expr.fn);
    // Work in the square of a list must not be done before it is paid.
    const afterwards = paidAfterwards.has(expr.fn);
    const regexCall = overloads.length === 0 ? undefined : regexCalls.get(expr.fn);
    if (regexCall !== undefined) {
      const pattern = args[1];
      if (pattern?.kind === 'const' && typeof pattern.value === 'string')
        this.#problem ??= patternProblem(pattern.value);
      return searching(regexCall, steps, cost);
    }
    const apply = dispatch(expr.fn, overloads, args);
    if (steps.length === 2) {
      const [left, right] = steps as [Step, Step];
      if (member && expr.fn === authorizerCheck) {
        return (frame) => {
          const [a, b] = [left(frame), right(frame)];
          frame.chargeAnswer(cost([a, b], null));
          return apply(a, b);
        };
      }
      return (frame) => {
        const [a, b] = [left(frame), right(frame)];
        if (!afterwards) charge(frame, cost([a, b], null));
        const result = apply(a, b);
        if (afterwards) charge(frame, cost([a, b], result));
        return result;
      };
    }
    return (frame) => {
      const values = steps.map((step) => step(frame));
      if (!afterwards) charge(frame, cost(values, null));
      const result = apply(...values);
      if (afterwards) charge(frame, cost(values, result));
      return result;
    };
  }

  #list(expr: ListExpr): Step {
    const items = expr.items.map((item) => ({ step: this.compile(item.value), optional: item.optional }));
    return (frame) => {
      const list: CelValue[] = [];
      for (const { step, optional } of items) {
        const value = step(frame);
        if (!optional) list.push(value);
        else if (!(value instanceof CelOptional)) throw noSuchOverload();
        else if (value.value !== undefined) list.push(value.value);
      }
      charge(frame, listCost);
      return list;
    };
  }

  #map(expr: MapExpr): Step {
    const entries = expr.entries.map((entry) => ({
      key: this.compile(entry.key),
      value: this.compile(entry.value),
      optional: entry.optional,
    }));
    return (frame) => {
      const map = new CelMap();
      for (const entry of entries) {
        const key = entry.key(frame);
        let value: CelValue | undefined = entry.value(frame);
        if (entry.optional) {
          if (!(value instanceof CelOptional)) throw noSuchOverload();
          value = value.value;
          if (value === undefined) continue;
        }
        if (typeof key === 'number' || key === null || isList(key)) throw new CelError('unsupported key type');
        if (!map.insert(key, value)) throw new CelError(`Failed with repeated key`);
      }
      charge(frame, mapCost);
      return map;
    };
  }

  #struct(expr: StructExpr): Step {
    const type = this.#environment.lookupStruct(expr.name);
    if (type === undefined) {
      return () => {
        throw new CelError(`unknown type: ${expr.name}`);
      };
    }
    const fields = expr.fields.map(({ name, value, optional }) => ({ name, step: this.compile(value), optional }));
    return (frame) => {
      const values = new Map<string, CelValue>();
      for (const { name, step, optional } of fields) {
        let value: CelValue | undefined = step(frame);
        if (optional) {
          if (!(value instanceof CelOptional)) throw noSuchOverload();
          value = value.value;
        }
        if (value !== undefined) values.set(name, value);
      }
      charge(frame, structCost);
      return new CelObject(new StructFields(type, values));
    };
  }

  #fold(expr: FoldExpr): Step {
    const range = this.compile(expr.range);
    // The accumulator grows: it must not be a shared constant.
    const init = this.#compile(expr.init);
    const scope = new Map<string, number>();
    const accu = this.#slot(scope, expr.accumulator);
    this.#locals.push(scope);
    const loop = new Map<string, number>();
    const first = this.#slot(loop, expr.variable);
    const second = expr.variable2 === undefined ? undefined : this.#slot(loop, expr.variable2);
    this.#locals.push(loop);
    const condition = this.compile(expr.condition);
    const step = this.compile(expr.step);
    this.#locals.pop();
    const result = this.compile(expr.result);
    this.#locals.pop();
    /** Only `all` and `exists` go on after an error: a later element may decide. */
    const absorbs = expr.condition.kind === 'call';
    return (frame) => {
      const { slots } = frame;
      const over = range(frame);
      slots[accu] = init(frame);
      for (const [key, value] of elementsOf(over, second !== undefined)) {
        slots[first] = key;
        if (second !== undefined) slots[second] = value;
        if (condition(frame) !== true) break;
        try {
          slots[accu] = step(frame);
        } catch (error) {
          if (!absorbs || !(error instanceof CelError)) throw error;
          slots[accu] = error;
        }
      }
      return result(frame);
    };
  }
}

/** Its cost stands for a question to the authorizer. */
const authorizerCheck = 'check';
const conversions = new Set('bool bytes double duration dyn int string timestamp type uint'.split(' '));

const constant =
  (value: CelValue): Step =>
  () =>
    value;

/** Keys and values; with one variable the element of a list, the key of a map. */
function* elementsOf(over: CelValue, pairs: boolean): Iterable<readonly [CelValue, CelValue]> {
  if (isList(over)) {
    let index = 0n;
    for (const item of over) yield pairs ? [index++, item] : [item, item];
  } else if (over instanceof CelMap) yield* over.entries();
  else throw new CelError(`got '${goTypeOf(over)}', expected iterable type`);
}

/** `||` (`decides` true) and `&&`: the other operand may make up for an error. */
function logical(left: Step, right: Step, decides: boolean): Step {
  return (frame) => {
    let failure: CelError | undefined;
    try {
      const value = left(frame);
      if (value === decides) return decides;
      if (typeof value !== 'boolean') failure = noSuchOverload();
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      failure = error;
    }
    if (failure === undefined) {
      const value = right(frame);
      if (typeof value !== 'boolean') throw noSuchOverload();
      return value;
    }
    try {
      if (right(frame) === decides) return decides;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
    }
    throw failure;
  };
}

function conditional(test: Step, yes: Step, no: Step): Step {
  return (frame) => {
    const value = test(frame);
    if (typeof value !== 'boolean') throw noSuchOverload();
    return value ? yes(frame) : no(frame);
  };
}

function notStrictlyFalse(operand: Step): Step {
  return (frame) => {
    charge(frame, 1);
    try {
      return operand(frame) !== false;
    } catch (error) {
      if (error instanceof CelError) return true;
      throw error;
    }
  };
}

/** The function to call. Arguments whose types are not known before are looked at when they are there. */
function dispatch(name: string, overloads: readonly Overload[], args: readonly Expr[]): CelFunction {
  const first = overloads[0];
  if (first === undefined) {
    return () => {
      throw new CelError(`no such overload: ${name}`);
    };
  }
  const certain = first.args.every((type, index) => {
    const actual = args[index]?.type;
    return type.kind === 'param' || type.kind === 'dyn' || (actual?.kind === type.kind && actual.name === type.name);
  });
  const selfChecking = name.startsWith('_') || name === operators.in || name === '!_' || name === '-_';
  if (selfChecking || (overloads.length === 1 && certain)) return first.apply;
  return (...values) => {
    for (const overload of overloads) {
      if (overload.args.every((type, index) => valueFits(values[index] as CelValue, type))) {
        return overload.apply(...values);
      }
    }
    throw new CelError(`no such overload: ${name}(${values.map((value) => typeOfValue(value).name).join(', ')})`);
  };
}

/** A value that has no fields lacks all of them, as in cel-go (interpreter: refQualify). */
function selectField(value: CelValue, field: string): CelValue {
  if (value instanceof CelObject || value instanceof CelMap) {
    const found = value instanceof CelMap ? value.get(field) : value.fields.get(field);
    if (found === undefined) throw new CelError(`no such key: ${field}`);
    return found;
  }
  if (value instanceof CelOptional) return optionalLookup(value, field);
  return indexValue(value, field);
}

function hasField(value: CelValue, field: string): boolean {
  if (value instanceof CelObject) return value.fields.get(field) !== undefined;
  if (value instanceof CelMap) return value.has(field);
  if (value instanceof CelOptional) return value.value !== undefined && hasField(value.value, field);
  return lookup(value, field) !== undefined;
}

const throughOptional = (value: CelValue, key: CelValue): CelValue | undefined =>
  value instanceof CelOptional ? optionalLookup(value, key) : undefined;

/** `a[?k]`, `a.?k`: what is there, as an optional. */
function optionalLookup(value: CelValue, key: CelValue): CelOptional {
  const inner = value instanceof CelOptional ? value.value : value;
  if (inner === undefined) return optionalNone;
  const found = lookup(inner, key);
  return found === undefined ? optionalNone : new CelOptional(found);
}
