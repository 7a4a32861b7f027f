import {
  childrenOf,
  operators,
  qualifiedName,
  type CallExpr,
  type Expr,
  type FoldExpr,
  type IdentExpr,
  type SelectExpr,
  type StructExpr,
} from './ast.ts';
import type { CelEnvironment } from './environment.ts';
import type { Overload } from './function-declaration.ts';
import { CelIssues, type Issue } from './issues.ts';
import { mostGeneral, TypeSubstitution } from './type-substitution.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  errorType,
  fieldTypeOf,
  intType,
  isDyn,
  isOptional,
  listType,
  mapType,
  nullType,
  optionalType,
  sameType,
  stringType,
  typeText,
  uintType,
  unwrapOptional,
  type CelType,
} from './types.ts';
import { CelUint, type CelValue } from './values.ts';
import { checkLiterals } from './literal-checks.ts';

/**
 * Finds the type of every part of an expression and the overloads each call may be (cel-go `checker/checker.go`), and
 * notes both in the tree. Throws CelIssues. Returns the type of the whole.
 */
export function checkExpression(source: string, expr: Expr, environment: CelEnvironment): CelType {
  const checker = new Checker(environment);
  checker.check(expr);
  if (checker.issues.length > 0) throw new CelIssues(source, checker.issues);
  checker.settle(expr);
  const literals = checkLiterals(expr, environment.homogeneousLiterals);
  if (literals.length > 0) throw new CelIssues(source, literals);
  return expr.type as CelType;
}

class Checker {
  readonly issues: Issue[] = [];
  readonly #environment: CelEnvironment;
  readonly #types = new TypeSubstitution();
  readonly #settled = new Set<Expr>();
  readonly #reported = new Set<string>();
  /** Variables of comprehensions, innermost last. */
  readonly #scopes: Map<string, CelType>[] = [];

  constructor(environment: CelEnvironment) {
    this.#environment = environment;
  }

  /** Macros may use a part twice (`optMap`): it is looked at once, or a chain of them would take forever. */
  check(expr: Expr): CelType {
    if (expr.type !== undefined) return expr.type;
    const type = this.#typeOf(expr);
    expr.type = type;
    return type;
  }

  /** Replaces what is left of type parameters everywhere. */
  settle(expr: Expr): void {
    if (this.#settled.has(expr)) return;
    this.#settled.add(expr);
    if (expr.type !== undefined) expr.type = this.#types.resolve(expr.type, true);
    for (const child of childrenOf(expr)) this.settle(child);
  }

  #report(at: number, message: string): void {
    const key = `${at} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.issues.push({ at, message });
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'const':
        return literalType(expr.value);
      case 'ident':
        return this.#ident(expr);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return listType(this.#join(expr.items) ?? this.#types.fresh());
      case 'map': {
        const key = this.#join(expr.entries.map((entry) => ({ value: entry.key, optional: false })));
        const value = this.#join(expr.entries);
        return mapType(key ?? this.#types.fresh(), value ?? this.#types.fresh());
      }
      case 'struct':
        return this.#struct(expr);
      case 'fold':
        return this.#fold(expr);
    }
  }

  #struct(expr: StructExpr): CelType {
    const type = this.#environment.lookupStruct(expr.name);
    if (type === undefined) {
      const other = this.#environment.lookup(expr.name)?.type;
      if (other === undefined) this.#report(expr.at, this.#undeclared(expr.name));
      else if (other.kind !== 'type') this.#report(expr.at, `'${typeText(other)}' is not a type`);
      else this.#report(expr.at, `'${typeText(unwrapType(other))}' is not a message type`);
      return errorType;
    }
    expr.name = type.name;
    for (const { name, value, optional, at } of expr.fields) {
      let given = this.check(value);
      if (optional) {
        given = this.#types.resolve(given);
        if (!isOptional(given) && !isDyn(given)) this.#mismatch(value, optionalType(given), given);
        given = unwrapOptional(given);
      }
      const field = fieldTypeOf(type, name);
      if (field === undefined) this.#report(at, `undefined field '${name}'`);
      else if (!this.#types.assignable([field], [given])) {
        const [wanted, actual] = [field, given].map((each) => typeText(this.#types.resolve(each, true)));
        this.#report(at, `expected type of field '${name}' is '${wanted}' but provided type is '${actual}'`);
      }
    }
    return type;
  }

  #undeclared(name: string): string {
    return `undeclared reference to '${name}' (in container '${this.#environment.container}')`;
  }

  #resolve(expr: IdentExpr): CelType | undefined {
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const type = (this.#scopes[index] as Map<string, CelType>).get(expr.name);
      if (type !== undefined) return type;
    }
    const found = this.#environment.lookup(expr.name);
    if (found === undefined) return undefined;
    expr.name = found.name;
    if (found.value !== undefined) expr.constant = found.value;
    return found.type;
  }

  #ident(expr: IdentExpr): CelType {
    const type = this.#resolve(expr);
    if (type === undefined) this.#report(expr.at, this.#undeclared(expr.name));
    return type ?? errorType;
  }

  #select(expr: SelectExpr): CelType {
    const name = expr.testOnly ? undefined : qualifiedName(expr);
    if (name !== undefined && !this.#isLocal(name)) {
      const ident: IdentExpr = { kind: 'ident', at: expr.at, name };
      const type = this.#environment.lookup(name) === undefined ? undefined : this.#resolve(ident);
      if (type !== undefined) {
        ident.type = type;
        expr.resolved = ident;
        return type;
      }
    }
    const type = this.#field(expr, expr.operand, expr.field, false);
    return expr.testOnly ? boolType : this.#types.resolve(type);
  }

  #isLocal(name: string): boolean {
    const first = name.split('.', 1)[0] as string;
    return this.#scopes.some((scope) => scope.has(first));
  }

  #field(expr: Expr, operand: Expr, field: string, optional: boolean): CelType {
    const operandType = this.#types.resolve(this.check(operand));
    const target = unwrapOptional(operandType);
    const type = this.#fieldType(expr, target, field);
    return optional || isOptional(operandType) ? optionalType(type) : type;
  }

  #fieldType(expr: Expr, target: CelType, field: string): CelType {
    switch (target.kind) {
      case 'map':
        return target.params[1] as CelType;
      case 'struct': {
        const type = fieldTypeOf(target, field);
        if (type === undefined) this.#report(expr.at, `undefined field '${field}'`);
        return type ?? errorType;
      }
      case 'param':
        this.#types.assignable([dynType], [target]);
        return dynType;
      case 'dyn':
      case 'error':
        return dynType;
      case 'opaque':
        // Types of libraries are structs that no provider describes.
        this.#report(expr.at, `unexpected failed resolution of '${target.name}'`);
        return errorType;
      default:
        this.#report(expr.at, `type '${typeText(target)}' does not support field selection`);
        return dynType;
    }
  }

  #call(expr: CallExpr): CelType {
    if (expr.fn === operators.optSelect) {
      const [operand, field] = expr.args as [Expr, Expr];
      if (field.type === undefined) field.type = stringType;
      const name = field.kind === 'const' && typeof field.value === 'string' ? field.value : '';
      return this.#types.resolve(this.#field(expr, operand, name, true));
    }
    for (const arg of expr.args) this.check(arg);
    const { target } = expr;
    if (target !== undefined) {
      const prefix = qualifiedName(target);
      const name = prefix === undefined ? undefined : this.#environment.lookupFunction(`${prefix}.${expr.fn}`);
      if (name !== undefined && !this.#isLocal(prefix as string)) {
        expr.fn = name;
        expr.target = undefined;
        return this.#overloads(expr, undefined);
      }
      this.check(target);
    }
    const name =
      target === undefined
        ? this.#environment.lookupFunction(expr.fn)
        : this.#environment.functions.has(expr.fn)
          ? expr.fn
          : undefined;
    if (name === undefined) {
      this.#report(expr.at, this.#undeclared(expr.fn));
      return errorType;
    }
    expr.fn = name;
    return this.#overloads(expr, target);
  }

  #overloads(expr: CallExpr, target: Expr | undefined): CelType {
    const args = target === undefined ? expr.args : [target, ...expr.args];
    const types = args.map((arg) => arg.type as CelType);
    const declared = this.#environment.functions.get(expr.fn) as readonly Overload[];
    if (expr.fn === operators.and || expr.fn === operators.or) {
      const wrong = args.filter((arg) => !this.#types.assignable([arg.type as CelType], [boolType]));
      for (const arg of wrong) this.#mismatch(arg, boolType, arg.type as CelType);
      expr.overloads = declared;
      return wrong.length > 0 ? errorType : boolType;
    }
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declared) {
      if (overload.member !== (target !== undefined) || overload.args.length !== args.length) continue;
      const [own, ownResult] = this.#instantiate(overload);
      if (!this.#types.assignable(types, own)) continue;
      fitting.push(overload);
      const type = this.#types.resolve(ownResult);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !sameType(type, result)) result = dynType;
    }
    if (result === undefined) {
      const texts = types.map((type) => typeText(this.#types.resolve(type, true)));
      const signature = target === undefined ? `(${texts.join(', ')})` : `${texts[0]}.(${texts.slice(1).join(', ')})`;
      this.#report(expr.at, `found no matching overload for '${expr.fn}' applied to '${signature}'`);
      return errorType;
    }
    expr.overloads = fitting;
    return result;
  }

  #instantiate(overload: Overload): [readonly CelType[], CelType] {
    if (overload.params.length === 0) return [overload.args, overload.result];
    const own = new TypeSubstitution();
    for (const param of overload.params) own.define(param, this.#types.fresh());
    return [overload.args.map((type) => own.resolve(type)), own.resolve(overload.result)];
  }

  #mismatch(expr: Expr, expected: CelType, actual: CelType): void {
    const [left, right] = [typeText(this.#types.resolve(expected)), typeText(this.#types.resolve(actual))];
    this.#report(expr.at, `expected type '${left}' but found '${right}'`);
  }

  /** The type that all elements of a literal share. */
  #join(items: readonly { readonly value: Expr; readonly optional: boolean }[]): CelType | undefined {
    let joined: CelType | undefined;
    for (const { value, optional } of items) {
      let type = this.check(value);
      if (optional) {
        type = this.#types.resolve(type);
        if (!isOptional(type) && !isDyn(type)) this.#mismatch(value, optionalType(type), type);
        type = unwrapOptional(type);
      }
      if (joined === undefined) joined = type;
      else if (this.#types.assignable([joined], [type])) joined = mostGeneral(joined, type);
      else joined = dynType;
    }
    return joined;
  }

  #fold(expr: FoldExpr): CelType {
    const range = this.#types.resolve(this.check(expr.range));
    const accumulator = this.check(expr.init);
    this.#scopes.push(new Map([[expr.accumulator, accumulator]]));
    const [first, second] = this.#rangeTypes(expr, range);
    const loop = new Map<string, CelType>([[expr.variable, first]]);
    if (expr.variable2 !== undefined) loop.set(expr.variable2, second);
    this.#scopes.push(loop);
    this.#expect(expr.condition, boolType);
    this.#expect(expr.step, accumulator);
    this.#scopes.pop();
    const result = this.check(expr.result);
    this.#scopes.pop();
    return this.#types.resolve(result);
  }

  #rangeTypes(expr: FoldExpr, range: CelType): [CelType, CelType] {
    switch (range.kind) {
      case 'list': {
        const item = range.params[0] as CelType;
        return expr.variable2 === undefined ? [item, item] : [intType, item];
      }
      case 'map':
        return [range.params[0] as CelType, range.params[1] as CelType];
      case 'dyn':
      case 'error':
      case 'param':
        this.#types.assignable([dynType], [range]);
        return [dynType, dynType];
      default: {
        const message = `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#report(expr.range.at, message);
        return [errorType, errorType];
      }
    }
  }

  #expect(expr: Expr, type: CelType): void {
    const actual = this.check(expr);
    if (!this.#types.assignable([type], [actual])) this.#mismatch(expr, type, actual);
  }
}

const unwrapType = (type: CelType): CelType => type.params[0] ?? type;

function literalType(value: CelValue): CelType {
  if (value === null) return nullType;
  if (value instanceof CelUint) return uintType;
  switch (typeof value) {
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
    case 'boolean':
      return boolType;
    default:
      return bytesType;
  }
}
