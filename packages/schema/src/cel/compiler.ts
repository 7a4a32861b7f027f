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
import {
  ConditionalAttribute,
  PathAttribute,
  PresenceAttribute,
  computedQualifier,
  constantQualifier,
  evaluated,
  keyProblem,
  type Attribute,
} from './attribute.ts';
import { binary, searching, unary, variadic } from './call-steps.ts';
import { CelError, noSuchOverload } from './cel-error.ts';
import type { CelEnvironment } from './environment.ts';
import { charge, Frame, type Step } from './frame.ts';
import type { CelFunction, Overload } from './function-declaration.ts';
import { patternProblem } from '../regex.ts';
import { regexCalls } from './regex-library.ts';
import { callCost, listCost, mapCost, structCost } from './runtime-cost.ts';
import { membershipTest } from './set-membership.ts';
import { goTypeOf, typeOfValue, valueFits } from './standard-types.ts';
import { StructFields } from './struct-fields.ts';
import { CelMap, CelObject, CelOptional, isList, type CelValue } from './values.ts';

/**
 * Turns an expression into closures, one per part, that evaluate it against a {@link Frame}. Variables have slots,
 * given out here. Costs are charged as cel-go's tracker does it: 1 for an attribute and for each of its qualifiers, 10
 * and 30 for making a list and a map, calls by {@link callCost}, whether they succeed or not. A comprehension over lists
 * appends to the accumulator that it alone holds.
 */
export class Compiler {
  /** Slots of the variables that the expression reads. */
  readonly globals = new Map<string, number>();
  readonly #environment: CelEnvironment;
  /** Macros may use a part twice. */
  readonly #steps = new Map<Expr, Step>();
  readonly #attributes = new Map<Expr, Attribute | undefined>();
  readonly #constants = new Map<Expr, { readonly value: CelValue } | undefined>();
  readonly #locals: Map<string, Step>[] = [];
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
    let step = this.#steps.get(expr);
    if (step === undefined) {
      step = this.#compile(expr);
      this.#steps.set(expr, step);
    }
    return step;
  }

  #compile(expr: Expr): Step {
    const known = this.#constant(expr);
    if (known !== undefined) return constant(known.value);
    const attribute = this.#attribute(expr);
    if (attribute !== undefined) return evaluated(attribute);
    switch (expr.kind) {
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
      default:
        throw new Error(`a part of an expression is neither a constant nor an attribute: ${expr.kind}`);
    }
  }

  /**
   * The value that is known beforehand, and costs nothing: literals, names of types, lists and maps of them, their
   * conversions (what cel-go's optimizer folds), and whether something is in an empty list.
   */
  #constant(expr: Expr): { readonly value: CelValue } | undefined {
    if (this.#constants.has(expr)) return this.#constants.get(expr);
    const found = this.#findConstant(expr);
    this.#constants.set(expr, found);
    return found;
  }

  #findConstant(expr: Expr): { readonly value: CelValue } | undefined {
    switch (expr.kind) {
      case 'const':
        return { value: expr.value };
      case 'ident':
        return expr.constant === undefined ? undefined : { value: expr.constant };
      case 'select':
        return expr.resolved === undefined ? undefined : this.#constant(expr.resolved);
      case 'list':
        if (!expr.items.every((item) => !item.optional && this.#constant(item.value) !== undefined)) return undefined;
        return this.#precomputed(this.#list(expr));
      case 'map': {
        const isConstant = expr.entries.every(
          ({ key, value, optional }) =>
            !optional && this.#constant(key) !== undefined && this.#constant(value) !== undefined,
        );
        return isConstant ? this.#precomputed(this.#map(expr)) : undefined;
      }
      case 'call': {
        const [arg, more] = expr.args;
        if (expr.target !== undefined || arg === undefined) return undefined;
        if (more !== undefined) return this.#listOfMembership(expr)?.length === 0 ? { value: false } : undefined;
        if (!conversions.has(expr.fn) || this.#constant(arg) === undefined) return undefined;
        return this.#precomputed(this.#apply(expr, expr.args));
      }
      default:
        return undefined;
    }
  }

  /** A constant that cannot be made fails where it is needed, and is a {@link problem}. */
  #precomputed(step: Step): { readonly value: CelValue } | undefined {
    try {
      return { value: step(new Frame([], Infinity)) };
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.#problem ??= error.message;
      return undefined;
    }
  }

  /** The constant list on the right of an `in`. */
  #listOfMembership(expr: CallExpr): readonly CelValue[] | undefined {
    const list = expr.args[1];
    if (expr.fn !== operators.in || list === undefined || overloadIdOf(expr) !== 'in_list') return undefined;
    const known = this.#constant(list)?.value;
    return known !== undefined && isList(known) ? known : undefined;
  }

  #attribute(expr: Expr): Attribute | undefined {
    if (this.#attributes.has(expr)) return this.#attributes.get(expr);
    const attribute = this.#plan(expr);
    this.#attributes.set(expr, attribute);
    return attribute;
  }

  /** What is evaluated as an attribute. */
  #plan(expr: Expr): Attribute | undefined {
    switch (expr.kind) {
      case 'ident':
        return new PathAttribute(this.#variable(expr.name));
      case 'select': {
        if (expr.resolved !== undefined) return this.#attribute(expr.resolved);
        const operand = this.#asAttribute(expr.operand);
        if (expr.testOnly) return new PresenceAttribute(operand, expr.field);
        return operand.with(constantQualifier(expr.field, false));
      }
      case 'call': {
        const [first, second, third] = expr.args as [Expr, Expr, Expr];
        if (expr.fn === operators.conditional)
          return new ConditionalAttribute(this.compile(first), this.#asAttribute(second), this.#asAttribute(third));
        if (expr.fn === operators.index) return this.#indexed(first, second, false);
        if (expr.fn === operators.optIndex || expr.fn === operators.optSelect)
          return this.#indexed(first, second, true);
        return undefined;
      }
      default:
        return undefined;
    }
  }

  #asAttribute(expr: Expr): Attribute {
    const attribute = this.#constant(expr) === undefined ? this.#attribute(expr) : undefined;
    return attribute ?? new PathAttribute(this.compile(expr));
  }

  #indexed(operand: Expr, key: Expr, optional: boolean): Attribute {
    const attribute = this.#asAttribute(operand);
    const known = this.#constant(key);
    if (known === undefined) return attribute.with(computedQualifier(this.#asAttribute(key).resolve, optional));
    this.#problem ??= keyProblem(known.value);
    return attribute.with(constantQualifier(known.value, optional));
  }

  /** The value of a variable, without its cost. */
  #variable(name: string): Step {
    for (let index = this.#locals.length - 1; index >= 0; index--) {
      const local = this.#locals[index]?.get(name);
      if (local !== undefined) return local;
    }
    let slot = this.globals.get(name);
    if (slot === undefined) {
      slot = this.#slots++;
      this.globals.set(name, slot);
    }
    return readSlot(slot, name);
  }

  #call(expr: CallExpr): Step {
    const args = (expr.target === undefined ? expr.args : [expr.target, ...expr.args]) as [Expr, Expr, ...Expr[]];
    switch (expr.fn) {
      case operators.and:
        return logical(this.compile(args[0]), this.compile(args[1]), false);
      case operators.or:
        return logical(this.compile(args[0]), this.compile(args[1]), true);
      case operators.notStrictlyFalse:
        return notStrictlyFalse(this.compile(args[0]));
      case operators.add:
        if (args[0].kind === 'ident' && args[0].name === accumulator && args[1].kind === 'list')
          return binary(this.compile(args[0]), this.compile(args[1]), callCost(expr.fn, 'add_list'), appendAll);
        break;
      case operators.in: {
        const list = this.#listOfMembership(expr);
        const test = list === undefined ? undefined : membershipTest(list);
        if (test !== undefined) {
          const item = this.compile(args[0]);
          return (frame) => test(item(frame));
        }
        break;
      }
      case 'or':
      case 'orValue':
        if (expr.target !== undefined && expr.args.length === 1) return this.#optionalOr(expr, args[0], args[1]);
        break;
      default:
    }
    return this.#apply(expr, args);
  }

  #optionalOr(expr: CallExpr, left: Expr, right: Expr): Step {
    const first = this.compile(left);
    const second = this.compile(right);
    return (frame) => {
      const value = first(frame);
      if (!(value instanceof CelOptional)) return value;
      if (value.value === undefined) return second(frame);
      return expr.fn === 'or' ? value : value.value;
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
    const cost = callCost(expr.fn, overloadIdOf(expr));
    const regexCall = overloads.length === 0 ? undefined : regexCalls.get(expr.fn);
    if (regexCall !== undefined) {
      const pattern = args[1] === undefined ? undefined : this.#constant(args[1])?.value;
      if (typeof pattern === 'string') this.#problem ??= patternProblem(pattern);
      return searching(regexCall, steps, cost, typeof pattern === 'string');
    }
    const apply = dispatch(expr.fn, overloads);
    const [first, second] = steps;
    if (steps.length === 1) return unary(first as Step, cost, apply);
    // Where several overloads could be meant, cel-go passes all arguments to one dispatcher, as it does to format.
    if (steps.length === 2 && (isOperator(expr.fn) || (overloads.length === 1 && expr.fn !== 'format'))) {
      const isCheck = member && expr.fn === authorizerCheck;
      return binary(first as Step, second as Step, cost, apply, isCheck);
    }
    return variadic(steps, cost, apply);
  }

  #list(expr: ListExpr): Step {
    const items = expr.items.map((item) => ({ step: this.compile(item.value), optional: item.optional }));
    return (frame) => {
      charge(frame, listCost);
      const list: CelValue[] = [];
      for (const { step, optional } of items) {
        const value = step(frame);
        if (!optional) list.push(value);
        else if (!(value instanceof CelOptional)) throw noSuchOverload();
        else if (value.value !== undefined) list.push(value.value);
      }
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
      charge(frame, mapCost);
      const map = new CelMap();
      for (const entry of entries) {
        const key = entry.key(frame);
        let value: CelValue | undefined = entry.value(frame);
        if (entry.optional) {
          if (!(value instanceof CelOptional)) throw noSuchOverload();
          value = value.value;
          if (value === undefined) {
            map.delete(key);
            continue;
          }
        }
        map.set(key, value);
      }
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
      charge(frame, structCost);
      const values = new Map<string, CelValue>();
      for (const { name, step, optional } of fields) {
        let value: CelValue | undefined = step(frame);
        if (optional) {
          if (!(value instanceof CelOptional)) throw noSuchOverload();
          value = value.value;
        }
        if (value !== undefined) values.set(name, value);
      }
      return new CelObject(new StructFields(type, values));
    };
  }

  #fold(expr: FoldExpr): Step {
    const range = this.compile(expr.range);
    const init = this.#initial(expr.init);
    const accu = this.#slots++;
    // The accumulator is made when it is asked for first.
    const value: Step = (frame) => {
      const { slots } = frame;
      let held = slots[accu];
      if (held === undefined) {
        try {
          held = init(frame);
        } catch (error) {
          if (!(error instanceof CelError)) throw error;
          held = error;
        }
        slots[accu] = held;
      }
      if (held instanceof CelError) throw held;
      return held;
    };
    this.#locals.push(new Map([[expr.accumulator, value]]));
    const loop = new Map<string, Step>();
    const first = this.#slots++;
    loop.set(expr.variable, readSlot(first, expr.variable));
    const second = expr.variable2 === undefined ? undefined : this.#slots++;
    if (second !== undefined) loop.set(expr.variable2 as string, readSlot(second, expr.variable2 as string));
    this.#locals.push(loop);
    const condition = this.compile(expr.condition);
    const step = this.compile(expr.step);
    this.#locals.pop();
    const result = this.compile(expr.result);
    this.#locals.pop();
    return (frame) => {
      const { slots } = frame;
      const over = range(frame);
      slots[accu] = undefined;
      for (const [key, item] of elementsOf(over, second !== undefined)) {
        const before = frame.cost;
        slots[first] = key;
        if (second !== undefined) slots[second] = item;
        if (condition(frame) !== true) break;
        try {
          slots[accu] = step(frame);
        } catch (error) {
          // An error is what is accumulated: a later element may still decide, and costs what it costs.
          if (!(error instanceof CelError)) throw error;
          slots[accu] = error;
        }
        // A turn may cost nothing, but it takes time.
        if (frame.cost === before) frame.spend(1);
      }
      return result(frame);
    };
  }

  /** An accumulator grows: it must not be a shared constant. */
  #initial(init: Expr): Step {
    if (init.kind === 'list' && init.items.length === 0) return () => [];
    if (init.kind === 'map' && init.entries.length === 0) return () => new CelMap();
    return this.compile(init);
  }
}

const types = (names: string): ReadonlySet<string> =>
  new Set(names.replace('times', 'google.protobuf.Duration google.protobuf.Timestamp').split(' '));
/** The types of the first operand that know an operator at all; the others lack it by name (cel-go `traits`). */
const operandTypes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [operators.add, types('int uint double string bytes list times')],
  [operators.subtract, types('int uint double times string')],
  [operators.multiply, types('int uint double string times')],
  [operators.divide, types('int uint double string times')],
  [operators.modulo, types('int uint string times')],
  [operators.negate, types('bool int double string times')],
  ...[operators.less, operators.lessEquals, operators.greater, operators.greaterEquals].map(
    (name) => [name, types('bool int uint double string bytes times')] as const,
  ),
  ['size', types('string bytes list map times')],
  ['sort', types('list times')],
]);

/** These leave it to the value to refuse an argument, which does not name the types. */
const unguarded = new Set(['contains', 'endsWith', 'startsWith']);

/** Its cost stands for a question to the authorizer. */
const authorizerCheck = 'check';
const conversions = new Set('bool bytes double duration dyn int string timestamp type uint'.split(' '));
const isOperator = (name: string): boolean => /^(?:_.*_|@in|!_|-_)$/.test(name);
/** The overload that the checker found; empty: several are possible. */
const overloadIdOf = ({ overloads }: CallExpr): string =>
  overloads?.length === 1 ? (overloads[0] as Overload).id : '';

const constant =
  (value: CelValue): Step =>
  () =>
    value;

const readSlot =
  (slot: number, name: string): Step =>
  (frame) => {
    const value = frame.slots[slot];
    if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
    if (value instanceof CelError) throw value;
    return value;
  };

const appendAll: CelFunction = (into, items) => {
  (into as CelValue[]).push(...(items as CelValue[]));
  return into;
};

/** Keys and values; with one variable the element of a list, the key of a map. */
function* elementsOf(over: CelValue, pairs: boolean): Iterable<readonly [CelValue, CelValue | CelError]> {
  if (isList(over)) {
    let index = 0n;
    for (const item of over) yield pairs ? [index++, item] : [item, item];
  } else if (over instanceof CelMap) yield* over.entries();
  else if (over instanceof CelObject && over.fields.isMap) {
    for (const key of over.fields.keys()) yield [key, over.fields.get(key) ?? new CelError(`no such key: ${key}`)];
  } else if (pairs) throw new CelError(`unsupported comprehension range type: ${goTypeOf(over)}`);
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

/** The function to call, by the types of the arguments: a value may be of another type than its schema promises. */
function dispatch(name: string, overloads: readonly Overload[]): CelFunction {
  if (overloads.length === 0) {
    return () => {
      throw new CelError(`no such overload: ${name}`);
    };
  }
  const { apply } = overloads[0] as Overload;
  const operand = operandTypes.get(name);
  if (operand !== undefined) {
    return (...values) => {
      if (!operand.has(typeOfValue(values[0] as CelValue).name)) throw new CelError(`no such overload: ${name}`);
      return apply(...values);
    };
  }
  if (isOperator(name)) return apply;
  return (...values) => {
    for (const overload of overloads) {
      if (overload.args.every((type, index) => valueFits(values[index] as CelValue, type))) {
        return overload.apply(...values);
      }
    }
    if (unguarded.has(name)) throw noSuchOverload();
    throw new CelError(`no such overload: ${name}(${values.map((value) => typeOfValue(value).name).join(', ')})`);
  };
}
