import {
  deepEqual,
  fieldErrors,
  getOwn,
  goFloat,
  maxCauses,
  quote,
  type FieldError,
  type Json,
  type JsonArray,
  type JsonObject,
} from '@multiplane/apimachinery';
import { runeCount } from './go-text.ts';
import { compileAtOnce, type MayCompile } from './compilation.ts';
import { matchesPattern } from './regex.ts';
import { shownValue } from './shown-value.ts';
import { WorkBudget } from './work-budget.ts';
import { typeBitsOf } from './schema-compiler.ts';
import {
  ARRAY,
  BOOLEAN,
  INTEGER,
  NUMBER,
  OBJECT,
  STRING,
  type Combinators,
  type NumberRules,
  type SchemaNode,
  type SizeRules,
  type StringRules,
} from './schema-node.ts';

export interface ValueCheckLimits {
  readonly mayCompile?: MayCompile | undefined;
  readonly budget?: WorkBudget | undefined;
}

const visitsPerCharge = 64;
const maxListed = 50_000;
/** Nested alternatives have millions of failures: beyond this number they are not even counted. */
const maxCounted = 200_000;

/**
 * Checks a value against a compiled schema.
 *
 * The walk keeps its place in a stack and renders a path only for an error, so a valid object costs no text. Each
 * node answers with the number of checks it passed: that is how the alternative of anyOf/oneOf is chosen whose errors
 * are shown (the one that got furthest, the first of equals; the counts follow kube-openapi's validator, because
 * they decide which messages a client sees). Alternatives are first tried without collecting errors and only the
 * chosen one is walked again, so nesting stays linear per level.
 *
 * With the stored object of an update at hand, errors below a place whose value did not change are forgiven: after a
 * child has failed it is compared with its old value (found by name, or by the keys of a list map; items of other lists
 * have none, there the list as a whole is compared). A child that differs makes all its
 * parents differ, which saves most comparisons.
 */
export class ValueValidator {
  readonly errors: FieldError[] = [];
  readonly #prefix: string;
  readonly #mayCompile: MayCompile;
  readonly #budget: WorkBudget;
  /** Values of enumerations in messages. */
  #listed = 0;
  /** Places that were visited and are not charged yet. */
  #visited = 0;
  readonly #path: (string | number)[] = [];
  #collect = true;
  #failures = 0;
  /** Something below the place at hand is known to differ from its old value. */
  #changed = false;

  /** `prefix` is the field that the value stands in (`status`); empty for a whole object. */
  constructor(prefix = '', { mayCompile = compileAtOnce, budget = new WorkBudget() }: ValueCheckLimits = {}) {
    this.#prefix = prefix;
    this.#mayCompile = mayCompile;
    this.#budget = budget;
  }

  /** Checks a whole value; `old` is its stored counterpart. */
  validate(value: Json, node: SchemaNode, old: Json | undefined): void {
    this.#validate(value, node, old);
    if (this.errors.length > 1 && this.errors.length <= maxCauses) dropRepeated(this.errors);
  }

  #validate(value: Json, node: SchemaNode, old: Json | undefined): void {
    if (old === undefined) {
      this.#check(value, node, undefined);
      return;
    }
    if (!node.hasExclusions) {
      // Old values only ratchet: without a failure they are not looked up.
      this.#check(value, node, undefined);
      if (this.#failures === 0) return;
      this.#failures = 0;
      this.errors.length = 0;
    }
    this.#checkAgainstOld(value, node, old);
  }

  /** Checks a child that has an old value; returns the count of passed checks. */
  #checkAgainstOld(value: Json, node: SchemaNode, old: Json): number {
    const errors = this.errors.length;
    const failures = this.#failures;
    const changed = this.#changed;
    this.#changed = false;
    const passed = this.#check(value, node, old);
    if (this.#failures === failures) {
      this.#changed = changed;
      return passed;
    }
    if (!this.#changed && deepEqual(value, old)) {
      this.errors.length = errors;
      this.#failures = failures;
      this.#changed = changed;
    } else {
      this.#changed = true;
    }
    return passed;
  }

  #child(value: Json, node: SchemaNode, old: Json | undefined): number {
    return old === undefined ? this.#check(value, node, undefined) : this.#checkAgainstOld(value, node, old);
  }

  #check(value: Json, node: SchemaNode, old: Json | undefined): number {
    if (++this.#visited === visitsPerCharge) {
      this.#visited = 0;
      this.#budget.charge(visitsPerCharge);
    }
    if (value === null) return this.#checkNull(node);
    const type = typeBitsOf(value);
    // The base count: schema properties, enumeration and the node itself are always looked at.
    let passed = 4;
    if (node.types !== 0 || node.format !== undefined) passed += this.#checkType(value, type, node);
    if (node.combinators !== undefined) passed += this.#checkCombinators(value, node.combinators, old);
    switch (type) {
      case STRING:
        passed++;
        if (node.strings !== undefined) this.#checkString(value as string, node.strings);
        if (node.format?.check !== undefined) {
          passed++;
          if (!node.format.check(value as string)) this.#wrongType(node.format.name, value as string);
        }
        break;
      case INTEGER:
      case NUMBER:
        passed += 2;
        this.#checkRange(value as number | bigint, node);
        if (node.numbers !== undefined) this.#checkNumber(value as number | bigint, node.numbers, node);
        break;
      case ARRAY:
        passed += 2 + this.#checkItems(value as JsonArray, node, old);
        break;
      case OBJECT:
        passed++;
        break;
      default:
    }
    if (node.enumeration !== undefined) this.#checkEnumeration(value, node, node.enumeration);
    if (type === OBJECT) passed += this.#checkFields(value as JsonObject, node, old);
    return passed;
  }

  #checkNull(node: SchemaNode): number {
    let passed = 0;
    if (node.types !== 0) {
      if (node.nullable) passed++;
      else this.#wrongType(node.typeText, 'null');
    }
    if (node.enumeration !== undefined) this.#checkEnumeration(null, node, node.enumeration);
    return passed;
  }

  #checkType(value: Json, type: number, node: SchemaNode): number {
    const fits = (node.types & type) !== 0 || (type === INTEGER && (node.types & NUMBER) !== 0);
    if (fits) return 2;
    // A format that is not of numbers takes the place of the type, for texts and lists (kube-openapi `validate/type.go`).
    const isOfNumbers = (node.types & (INTEGER | NUMBER)) !== 0;
    if (node.format !== undefined && !isOfNumbers && (type === STRING || type === ARRAY)) return 2;
    if (node.format !== undefined && type !== STRING && type !== ARRAY) {
      const actual = type === INTEGER ? 'int64' : type === NUMBER ? 'float64' : '';
      if (node.format.name === actual) return 2;
      this.#wrongType(node.format.name, actual);
      return 1;
    }
    if (node.types === 0) return 2;
    this.#wrongType(node.typeText, typeName(value, type));
    return 1;
  }

  #checkCombinators(value: Json, rules: Combinators, old: Json | undefined): number {
    let passed = 0;
    if (rules.anyOf.length > 0) passed += this.#checkAnyOf(value, rules.anyOf, old);
    if (rules.oneOf.length > 0) passed += this.#checkOneOf(value, rules.oneOf, old);
    if (rules.allOf.length > 0) {
      let valid = 0;
      for (const node of rules.allOf) {
        const failures = this.#failures;
        passed += this.#check(value, node, old);
        if (this.#failures === failures) valid++;
      }
      if (valid !== rules.allOf.length) {
        this.#general(
          (where) => `${quote(where)} must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`,
        );
      }
    }
    if (rules.not !== undefined && this.#probe(value, rules.not, old).valid) {
      this.#general((where) => `${quote(where)} must not validate the schema (not)`);
    }
    return passed;
  }

  #checkAnyOf(value: Json, alternatives: readonly SchemaNode[], old: Json | undefined): number {
    let best: SchemaNode | undefined;
    let most = -1;
    for (const node of alternatives) {
      const { valid, passed } = this.#probe(value, node, old);
      if (valid) return passed;
      if (passed > most) {
        most = passed;
        best = node;
      }
    }
    this.#general((where) => `${quote(where)} must validate at least one schema (anyOf)`);
    if (best !== undefined) this.#show(value, best, old);
    return most;
  }

  #checkOneOf(value: Json, alternatives: readonly SchemaNode[], old: Json | undefined): number {
    let best: SchemaNode | undefined;
    let most = -1;
    let valid = 0;
    let first = 0;
    for (const node of alternatives) {
      const result = this.#probe(value, node, old);
      if (result.valid) {
        if (valid === 0) first = result.passed;
        valid++;
      } else if (valid === 0 && result.passed > most) {
        most = result.passed;
        best = node;
      }
    }
    if (valid === 1) return first;
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    this.#general((where) => `${quote(where)} must validate one and only one schema (oneOf). ${found}`);
    if (valid > 0) return 0;
    if (best !== undefined) this.#show(value, best, old);
    return most;
  }

  /** Tries an alternative without reporting anything. */
  #probe(value: Json, node: SchemaNode, old: Json | undefined): { valid: boolean; passed: number } {
    const collect = this.#collect;
    const failures = this.#failures;
    const changed = this.#changed;
    this.#collect = false;
    const passed = this.#check(value, node, old);
    const valid = this.#failures === failures;
    this.#collect = collect;
    this.#failures = failures;
    this.#changed = changed;
    return { valid, passed };
  }

  /** Reports the errors of the alternative that was chosen; while probing, that it failed is enough. */
  #show(value: Json, node: SchemaNode, old: Json | undefined): void {
    if (this.#collect) this.#check(value, node, old);
  }

  #checkString(value: string, rules: StringRules): void {
    if (value.length > rules.maxLength && runeCount(value) > rules.maxLength) {
      this.#report((where) => fieldErrors.tooLong(where, rules.maxLength));
    } else if (rules.minLength > 0 && value.length < rules.minLength * 2 && runeCount(value) < rules.minLength) {
      this.#invalid(value, () => `should be at least ${rules.minLength} chars long`);
    } else if (rules.pattern !== '' && !matchesPattern(value, rules.pattern, this.#budget, this.#mayCompile)) {
      this.#invalid(value, () => `should match '${rules.pattern}'`);
    }
  }

  /** The number must fit the integer type that the schema names, whatever else is wrong with it. */
  #checkRange(value: number | bigint, node: SchemaNode): void {
    const problem = rangeProblem(value, node);
    if (problem !== undefined) this.#general((where) => `Checked value must be of type ${problem} in ${where}`);
  }

  #checkNumber(value: number | bigint, rules: NumberRules, node: SchemaNode): void {
    const { multipleOf, maximum, minimum } = rules;
    if (multipleOf !== undefined) {
      this.#checkBoundary('MultipleOf', multipleOf, node);
      if (multipleOf <= 0) {
        const detail = `factor MultipleOf declared for ${this.#where()} must be positive: ${goFloat(multipleOf)}`;
        this.#report((where) => fieldErrors.invalid(where, multipleOf, detail));
      } else if (!isMultiple(value, multipleOf)) {
        this.#invalid(value, () => `should be a multiple of ${goFloat(multipleOf)}`);
      }
    }
    if (minimum !== -Infinity) this.#checkBoundary('Minimum boundary', minimum, node);
    if (rules.exclusiveMinimum ? value <= minimum : value < minimum) {
      this.#invalid(
        value,
        () => `should be greater than ${rules.exclusiveMinimum ? '' : 'or equal to '}${goFloat(minimum)}`,
      );
    }
    if (maximum !== Infinity) this.#checkBoundary('Maximum boundary', maximum, node);
    if (rules.exclusiveMaximum ? value >= maximum : value > maximum) {
      this.#invalid(
        value,
        () => `should be less than ${rules.exclusiveMaximum ? '' : 'or equal to '}${goFloat(maximum)}`,
      );
    }
  }

  /** A limit that the schema sets must fit its type, too; no number passes it otherwise. */
  #checkBoundary(name: string, limit: number, node: SchemaNode): void {
    const problem = rangeProblem(limit, node);
    if (problem !== undefined) this.#general((where) => `${name} value must be of type ${problem} in ${where}`);
  }

  #checkItems(list: JsonArray, node: SchemaNode, old: Json | undefined): number {
    let passed = 0;
    const items = node.items;
    if (items !== undefined) {
      const oldItems = Array.isArray(old) && !node.uncorrelated ? new OldItems(old, node) : undefined;
      for (let index = 0; index < list.length; index++) {
        const item = list[index] as Json;
        this.#path.push(index);
        passed += this.#child(item, items, oldItems?.of(item));
        this.#path.pop();
      }
    }
    if (node.sizes !== undefined) this.#checkItemCount(list.length, node.sizes);
    return passed;
  }

  #checkItemCount(count: number, { minItems, maxItems }: SizeRules): void {
    if (count < minItems) this.#invalid(count, () => `should have at least ${minItems} items`);
    if (count > maxItems) this.#report((where) => fieldErrors.tooMany(where, count, maxItems));
  }

  #checkEnumeration(value: Json, node: SchemaNode, allowed: readonly Json[]): void {
    if (typeof value === 'string' && node.enumeratedTexts?.has(value) === true) return;
    this.#budget.charge(allowed.length);
    for (const candidate of allowed) if (isListed(value, candidate)) return;
    // Each message lists all values: beyond a limit, which no response has room for, failures are only counted.
    if (this.#collect && this.#listed > 0 && this.#listed + allowed.length > maxListed) {
      this.#failures++;
      if (this.errors.length < maxCounted) this.errors.push(untold);
      return;
    }
    if (this.#collect) this.#listed += allowed.length;
    this.#report((where) => fieldErrors.notSupported(where, shownValue(value), allowed.map(enumerationText)));
  }

  #checkFields(object: JsonObject, node: SchemaNode, old: Json | undefined): number {
    const names = Object.keys(object);
    if (node.sizes !== undefined) {
      const { minProperties, maxProperties } = node.sizes;
      const count = names.length;
      if (count < minProperties) this.#invalid(count, () => `should have at least ${minProperties} properties`);
      if (count > maxProperties) this.#report((where) => fieldErrors.tooMany(where, count, maxProperties));
    }
    let passed = 0;
    const { properties, additional } = node;
    if (properties !== undefined || additional !== undefined || node.additionalBoolean === false) {
      const oldObject = typeof old === 'object' && old !== null && !Array.isArray(old) ? old : undefined;
      for (const name of names) {
        const property = properties?.get(name);
        const schema = property ?? additional;
        if (schema === undefined) {
          if (node.additionalBoolean === false) this.#forbiddenField(name);
          continue;
        }
        // A field of a map at the root of a subtree has its dot in front, as Kubernetes prints it.
        this.#path.push(property === undefined && this.#path.length === 0 ? `.${name}` : name);
        passed += this.#child(
          object[name] as Json,
          schema,
          oldObject === undefined ? undefined : getOwn(oldObject, name),
        );
        this.#path.pop();
      }
    }
    if (node.required !== undefined) {
      this.#budget.charge(node.required.length);
      for (const name of node.required) {
        if (Object.hasOwn(object, name)) continue;
        this.#path.push(name);
        this.#report((where) => fieldErrors.required(where));
        this.#path.pop();
      }
    }
    return passed;
  }

  #forbiddenField(name: string): void {
    this.#report((where) =>
      fieldErrors.invalid(where, name, `${this.#where()}.${name} in body is a forbidden property`),
    );
  }

  #wrongType(expected: string, actual: string): void {
    this.#report((where) =>
      fieldErrors.typeInvalid(where, actual, `${this.#where()} in body must be of type ${expected}: ${quote(actual)}`),
    );
  }

  /** The text is made only where it is reported: alternatives are tried millions of times. */
  #invalid(value: Json, what: () => string): void {
    this.#report((where) => fieldErrors.invalid(where, value, `${this.#where()} in body ${what()}`));
  }

  /** A failure for which Kubernetes reports no field. */
  #general(detail: (where: string) => string): void {
    if (this.#tells())
      this.errors.push(fieldErrors.invalid(this.#prefix === '' ? '<nil>' : this.#prefix, '', detail(this.#where())));
  }

  /** Counts a failure; true if its text has a place in a response. */
  #tells(): boolean {
    this.#failures++;
    if (!this.#collect) return false;
    const { length } = this.errors;
    if (length >= maxCauses && length < maxCounted) this.errors.push(untold);
    return length < maxCauses;
  }

  #report(error: (where: string) => FieldError): void {
    if (!this.#tells()) return;
    const name = this.#where();
    const field = name.startsWith('.') ? name.slice(1) : name;
    if (field === '') this.errors.push(error(this.#prefix === '' ? '<nil>' : this.#prefix));
    else this.errors.push(error(this.#prefix === '' ? field : `${this.#prefix}.${field}`));
  }

  #where(): string {
    if (!this.#collect) return '';
    let text = '';
    for (const part of this.#path) {
      if (typeof part === 'number') text += `[${part}]`;
      else text += text === '' ? part : `.${part}`;
    }
    return text;
  }
}

/**
 * Kubernetes converts the value to Go's type of the candidate before it compares them: a number loses its fraction, an integer
 * is the character that it encodes. Null is never listed.
 */
function isListed(value: Json, candidate: Json): boolean {
  if (value === null || candidate === null) return false;
  if (typeof value === 'number' && Number.isSafeInteger(candidate)) return Math.trunc(value) === candidate;
  if (typeof candidate === 'string' && Number.isSafeInteger(value)) return character(value as number) === candidate;
  return deepEqual(value, candidate);
}

const character = (code: number): string =>
  code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : '\uFFFD';

/** Several alternatives may find the same: kube-openapi keeps the first error of each text. In place. */
function dropRepeated(errors: FieldError[]): void {
  const seen = new Set<string>();
  let kept = 0;
  for (const error of errors) {
    const text = `${error.type} ${error.field} ${error.detail}`;
    if (seen.has(text)) continue;
    seen.add(text);
    errors[kept++] = error;
  }
  errors.length = kept;
}

/** Stands for each failure that is only counted: a hostile object has 200,000, and texts of all of them take half a second. */
const untold: FieldError = fieldErrors.invalid('<nil>', '', '');

/** Old counterparts of the items of a list. */
class OldItems {
  readonly #old: JsonArray;
  readonly #keys: readonly string[];
  #byKey: Map<string, Json> | undefined;

  constructor(old: JsonArray, node: SchemaNode) {
    this.#old = old;
    this.#keys = node.listMapKeys ?? [];
  }

  of(item: Json): Json | undefined {
    const keys = this.#keys;
    if (this.#byKey === undefined) {
      this.#byKey = new Map();
      for (const old of this.#old) {
        const key = listMapKey(old, keys);
        if (!this.#byKey.has(key)) this.#byKey.set(key, old);
      }
    }
    return this.#byKey.get(listMapKey(item, keys)) ?? undefined;
  }
}

/** The identity of an item of a list map: the values of its keys; missing ones differ from null. */
export function listMapKey(item: Json, keys: readonly string[]): string {
  const object = typeof item === 'object' && item !== null && !Array.isArray(item) ? item : {};
  let text = '';
  for (const key of keys) text += `${identityText(getOwn(object, key))}\u0000`;
  return text;
}

/** A text that two values share if and only if they are equal. */
export function identityText(value: Json | undefined): string {
  if (value === undefined) return 'u';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(identityText).join()}]`;
  return `{${Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${identityText(value[key])}`)
    .join()}}`;
}

function typeName(value: Json, type: number): string {
  switch (type) {
    case STRING:
      return 'string';
    case BOOLEAN:
      return 'boolean';
    case INTEGER:
      return 'integer';
    case NUMBER:
      return 'number';
    default:
      return Array.isArray(value) ? 'array' : 'object';
  }
}

/** The type that a number does not fit, with its format; undefined: it fits (kube-openapi `IsValueValidAgainstRange`). */
function rangeProblem(value: number | bigint, node: SchemaNode): string | undefined {
  // A text fits as well: the schema names no single type.
  if (node.types === (INTEGER | STRING)) return undefined;
  const format = node.format?.name;
  if ((node.types & INTEGER) !== 0) {
    const fits = format === 'int32' ? isInt32(value) : wholeNumber(value);
    if (fits) return undefined;
    return format === 'int32' || format === 'int64' ? `integer with format ${format}` : 'integer (default format)';
  }
  const isTooGreat = format === 'float' && Math.abs(Number(value)) > 3.4028235677973366e38;
  return isTooGreat ? 'number with format float' : undefined;
}

const isInt32 = (value: number | bigint): boolean =>
  Number.isInteger(Number(value)) && value >= -2147483648 && value <= 2147483647;

/** Fits int64, whatever way it is written. */
function wholeNumber(value: number | bigint): boolean {
  if (typeof value === 'bigint') return value >= -(2n ** 63n) && value < 2n ** 63n;
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
}

/** Quotients within 1e-9 of a whole number count, as 0.3 is a multiple of 0.1. */
function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint' && Number.isSafeInteger(factor)) return value % BigInt(factor) === 0n;
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  const whole = Math.round(quotient);
  if (quotient === whole) return true;
  return Math.abs(quotient - whole) / Math.min(Math.abs(quotient) + Math.abs(whole), Number.MAX_VALUE) < 1e-9;
}

const enumerationText = (value: Json): string =>
  typeof value === 'string'
    ? value
    : JSON.stringify(shownValue(value), (_key, inner: unknown) =>
        typeof inner === 'bigint' ? JSON.rawJSON(String(inner)) : inner,
      );
