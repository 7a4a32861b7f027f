import {
  fieldErrors,
  FieldPath,
  fieldErrorText,
  getOwn,
  isJsonObject,
  omittedValue,
  type FieldError,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { Compiled, compileAtOnce, type MayCompile } from '../compilation.ts';
import type { RuleLimits, RuleValidator } from '../compile-schema.ts';
import { namedSchemasOf, objectOf, schemasOf, stringOf } from '../definition/schema-document.ts';
import { CelCostError, CelError, OutOfPatience } from './cel-error.ts';
import { compileRule, RuleEnvironment, ruleOf, type CompiledRule, type Rule } from './compiled-rule.ts';
import { below, Correlation, formerItems, mayStay, nowhere, type Standing } from './correlation.ts';
import { isLongExpression } from './long-expression.ts';
import { perCallLimit, type CelOutcome, type CelProgram } from './program.ts';
import { escapeFieldName } from './reserved-names.ts';
import { schemaType, type SchemaType } from './schema-type.ts';
import { valueOf } from './schema-value.ts';
import { WorkBudget } from '../work-budget.ts';
import { CelOptional, optionalNone, type CelValue } from './values.ts';

/** Cost units that all rules of an object may use together. */
const objectBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;
/** The evaluation of a small rule takes some microseconds. */
const stepsPerRule = 20;

/**
 * Judges the rules of a schema: walks the object along the places that have rules below them, evaluates those of a
 * place with `self` and, where one can tell what it was before, `oldSelf`. A failure where nothing has changed is a
 * warning only (ratcheting). All evaluations share one budget; when it is used up the walk ends.
 */
export function compileRules(schema: JsonObject): RuleValidator {
  const root = placeOf(schema, schema, () => schemaType(schema, true));
  return {
    validate(object, old, warn, limits) {
      if (root === undefined) return [];
      const budget = ruleBudget();
      const { left } = budget;
      const walk = new Walk(warn, budget, limits);
      const current = old === undefined ? undefined : new Correlation(object, old);
      walk.visit(root, FieldPath.root(), object, old, { current, nearest: undefined });
      limits?.onCost?.(left - Math.max(0, budget.left));
      return walk.errors;
    },
  };
}

/** Cost units that are left. */
export interface RuleBudget {
  left: number;
}
export const ruleBudget = (): RuleBudget => ({ left: objectBudget });

/**
 * Judges a default by the rules of its place, as a value that is new and as one that stays. All defaults of a
 * definition share a budget.
 */
export function judgeDefault(
  schema: JsonObject,
  isRoot: boolean,
  path: FieldPath,
  value: Json,
  budget: RuleBudget,
): FieldError[] {
  const place = placeOf(schema, schema, () => schemaType(schema, isRoot));
  if (place === undefined) return [];
  const judge = (old: Json | undefined): FieldError[] => {
    const walk = new Walk(undefined, budget);
    walk.visit(place, path, value, old, nowhere);
    return walk.errors;
  };
  const staying = judge(value);
  return staying.length > 0 ? staying : judge(undefined);
}

/** A place in the schema that has rules, or has some below. */
interface Place {
  readonly schema: JsonObject;
  readonly isList: boolean;
  /** Compiled when an object first has this place; without a type there are none. */
  readonly rules: readonly Compiled<CompiledRule>[];
  readonly type: () => SchemaType | undefined;
  readonly properties: ReadonlyMap<string, Place>;
  readonly additional: Place | undefined;
  readonly items: Place | undefined;
  readonly allOf: readonly Place[];
}

/** `rules` is the schema that carries the rules: a part of an `allOf`, else the schema itself. */
function placeOf(rules: JsonObject, schema: JsonObject, typeOf: () => SchemaType | undefined): Place | undefined {
  const type = once(typeOf);
  const nested = (below: JsonObject | undefined, own: JsonObject | undefined, read: () => SchemaType | undefined) =>
    below === undefined || own === undefined ? undefined : placeOf(below, own, read);
  const properties = new Map<string, Place>();
  const ownProperties = objectOf(schema, 'properties') ?? {};
  for (const [name, property] of namedSchemasOf(rules, 'properties')) {
    const own = objectOf(ownProperties, name);
    if (own === undefined) continue;
    const escaped = escapeFieldName(name);
    const place = nested(property, own, () =>
      escaped === undefined ? schemaType(own, isEmbedded(own)) : type()?.fields?.get(escaped)?.type,
    );
    if (place !== undefined) properties.set(name, place);
  }
  const item = (): SchemaType | undefined => type()?.item;
  const additional = nested(objectOf(rules, 'additionalProperties'), objectOf(schema, 'additionalProperties'), item);
  const items = nested(objectOf(rules, 'items'), objectOf(schema, 'items'), item);
  const allOf = schemasOf(rules, 'allOf').flatMap((part) => placeOf(part, schema, type) ?? []);
  const own = schemasOf(rules, 'x-kubernetes-validations').map(ruleOf);
  if (own.length + properties.size + allOf.length === 0 && additional === undefined && items === undefined) {
    return undefined;
  }
  return {
    schema,
    isList: stringOf(schema, 'type') === 'array',
    rules: rulesOf(own, type, schema),
    type,
    properties,
    additional,
    items,
    allOf,
  };
}

function rulesOf(
  rules: readonly Rule[],
  typeOf: () => SchemaType | undefined,
  schema: JsonObject,
): readonly Compiled<CompiledRule>[] {
  const environment = once(() => new RuleEnvironment(typeOf() as SchemaType));
  return rules.map(
    (rule) =>
      new Compiled(() => compileRule(rule, typeOf() as SchemaType, schema, environment()), {
        isLong: isLongExpression(rule.rule) || isLongExpression(rule.messageExpression),
      }),
  );
}

const isEmbedded = (schema: JsonObject): boolean => getOwn(schema, 'x-kubernetes-embedded-resource') === true;
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Ends a walk: the budget is used up. */
class OutOfBudget extends Error {}

class Walk {
  readonly errors: FieldError[] = [];
  readonly #warn: ((text: string) => void) | undefined;
  readonly #budget: RuleBudget;
  /** Where the budget stands when patience is over. */
  readonly #until: number;
  readonly #mayCompile: MayCompile;
  readonly #work: WorkBudget;

  constructor(
    warn: ((text: string) => void) | undefined,
    budget = ruleBudget(),
    { patience = Infinity, mayCompile = compileAtOnce, budget: work = new WorkBudget() }: RuleLimits = {},
  ) {
    this.#work = work;
    this.#warn = warn;
    this.#budget = budget;
    this.#until = budget.left - patience;
    this.#mayCompile = mayCompile;
  }

  visit(root: Place, path: FieldPath, object: Json, old: Json | undefined, standing: Standing): void {
    try {
      this.#visit(root, path, object, old, standing);
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
    }
  }

  #visit(place: Place, path: FieldPath, value: Json, old: Json | undefined, standing: Standing): void {
    if (value === null) return;
    this.#work.charge(1);
    if (place.rules.length > 0) this.#evaluate(place, path, value, old ?? undefined, standing);
    for (const part of place.allOf) {
      this.#visit(part, path, value, old, { current: undefined, nearest: standing.nearest });
    }
    if (Array.isArray(value)) {
      if (place.items !== undefined) this.#items(place, place.items, path, value, old, standing);
    } else if (isJsonObject(value)) this.#fields(place, path, value, isJsonObject(old) ? old : undefined, standing);
  }

  #items(
    place: Place,
    items: Place,
    path: FieldPath,
    list: readonly Json[],
    old: Json | undefined,
    standing: Standing,
  ): void {
    const former = formerItems(place.schema, old);
    list.forEach((item, index) => {
      const before = former(item);
      this.#visit(items, path.index(index), item, before, below(standing, item, before));
    });
  }

  #fields(place: Place, path: FieldPath, object: JsonObject, old: JsonObject | undefined, standing: Standing): void {
    for (const key of Object.keys(object)) {
      const property = place.properties.get(key);
      const next = property ?? place.additional;
      if (next === undefined) continue;
      const value = object[key] as Json;
      const before = old === undefined ? undefined : getOwn(old, key);
      // The version of the stored object may differ from that of the request; this is not visible.
      const atRoot = standing.nearest === undefined && (key === 'apiVersion' || key === 'kind');
      const own = atRoot ? nowhere : below(standing, value, before);
      this.#visit(next, property === undefined ? path.key(key) : path.child(key), value, before, own);
    }
  }

  #evaluate(place: Place, path: FieldPath, value: Json, old: Json | undefined, standing: Standing): void {
    const type = place.type();
    const typeName = stringOf(place.schema, 'type');
    if (type === undefined) return;
    if (this.#budget.left <= 0) this.#outOfBudget(path, typeName);
    const variables = new Variables(value, old, type);
    for (const late of place.rules) {
      if (this.#work.isInline && late.isLong) throw new OutOfPatience();
      const compiled = late.get(this.#mayCompile);
      this.#work.charge(stepsPerRule);
      const { rule, program } = compiled;
      if (compiled.error !== undefined) {
        this.errors.push(fieldErrors.invalid(path, typeName, `rule compile error: ${compiled.error}`));
        continue;
      }
      if (program === undefined) continue;
      if (compiled.usesOldSelf && old === undefined && rule.optionalOldSelf !== true) continue;
      const outcome = this.#run(program, variables, rule);
      if (outcome.cost > this.#budget.left) this.#outOfBudget(path, typeName);
      this.#budget.left -= outcome.cost;
      if (outcome.error !== undefined) {
        this.errors.push(fieldErrors.invalid(path, typeName, evaluationText(outcome.error, rule)));
        if (outcome.error instanceof CelCostError) throw new OutOfBudget();
      } else if (outcome.value !== true) this.#failed(compiled, variables, path, value, typeName, standing);
    }
  }

  /** Throws {@link OutOfPatience} as soon as the evaluation shows that it takes more. */
  #run(program: CelProgram, variables: Variables, rule: Rule): CelOutcome {
    const left = this.#budget.left - this.#until;
    const outcome = evaluate(program, variables, rule, Math.min(perCallLimit, left), this.#work);
    if (outcome.cost > left || (outcome.error instanceof CelCostError && left < perCallLimit))
      throw new OutOfPatience();
    return outcome;
  }

  #outOfBudget(path: FieldPath, typeName: string): never {
    const detail = 'validation failed due to running out of cost budget, no further validation rules will be run';
    this.errors.push(fieldErrors.invalid(path, typeName, detail));
    throw new OutOfBudget();
  }

  #failed(
    compiled: CompiledRule,
    variables: Variables,
    path: FieldPath,
    value: Json,
    typeName: string,
    standing: Standing,
  ): void {
    const where = compiled.field === '' ? path : path.child(compiled.field);
    const stays = !compiled.usesOldSelf && mayStay(standing);
    const report = (error: FieldError): void => {
      if (stays) this.#warn?.(fieldErrorText(error));
      else this.errors.push(error);
    };
    const detail = this.#message(compiled, variables, (text) => {
      report(fieldErrors.invalid(where, typeName, text));
    });
    const bad = typeName === 'object' || typeName === 'array' ? omittedValue : value;
    switch (compiled.rule.reason) {
      case 'FieldValueForbidden':
        report(fieldErrors.forbidden(where, detail));
        break;
      case 'FieldValueRequired':
        report(fieldErrors.required(where, detail));
        break;
      case 'FieldValueDuplicate':
        report(fieldErrors.duplicate(where, bad));
        break;
      default:
        report(fieldErrors.invalid(where, bad, detail));
    }
  }

  /** What a failed rule says. A message that cannot be made is replaced by the fixed one. */
  #message(compiled: CompiledRule, variables: Variables, exhausted: (text: string) => void): string {
    const { rule, message } = compiled;
    const otherwise = rule.message === '' ? `failed rule: ${rule.rule.trim()}` : rule.message.trim();
    if (message === undefined) return otherwise;
    const outcome = this.#run(message, variables, rule);
    if (outcome.cost > this.#budget.left) {
      exhausted(
        'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      );
      throw new OutOfBudget();
    }
    this.#budget.left -= outcome.cost;
    if (outcome.error instanceof CelCostError) {
      const quoted = JSON.stringify(rule.messageExpression);
      exhausted(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${quoted}`,
      );
      throw new OutOfBudget();
    }
    const text = typeof outcome.value === 'string' ? outcome.value.trim() : '';
    const usable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= maxMessageBytes;
    return usable ? text : otherwise;
  }
}

/** The variables of the rules at a place; made when a rule first needs them. */
class Variables {
  readonly #value: Json;
  readonly #old: Json | undefined;
  readonly #type: SchemaType;
  #self: { readonly value: CelValue } | undefined;
  #oldSelf: CelValue | undefined;

  constructor(value: Json, old: Json | undefined, type: SchemaType) {
    this.#value = value;
    this.#old = old;
    this.#type = type;
  }

  of(rule: Rule, usesOldSelf: boolean): Record<string, CelValue | undefined> {
    this.#self ??= { value: valueOf(this.#value, this.#type) };
    const self = this.#self.value;
    if (!usesOldSelf) return { self };
    if (this.#old !== undefined) this.#oldSelf ??= valueOf(this.#old, this.#type);
    const oldSelf = this.#oldSelf;
    if (rule.optionalOldSelf !== true) return { self, oldSelf };
    return { self, oldSelf: oldSelf === undefined ? optionalNone : new CelOptional(oldSelf) };
  }
}

/** Values that are not what their schema says (they may have been stored so) are errors of the rule. */
function evaluate(
  program: CelProgram,
  variables: Variables,
  rule: Rule,
  limit: number,
  budget: WorkBudget,
): CelOutcome {
  try {
    return program.evaluate(variables.of(rule, program.uses('oldSelf')), limit, undefined, budget);
  } catch (error) {
    if (error instanceof CelError) return { cost: 0, answers: 0, error };
    throw error;
  }
}

function evaluationText(error: CelError | CelCostError, rule: Rule): string {
  const which = rule.message === '' ? rule.rule.trim() : rule.message.trim();
  if (error instanceof CelCostError) {
    return `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${which}`;
  }
  if (error.message.startsWith('no such overload')) {
    return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${which}`;
  }
  return `${error.message} evaluating rule: ${which}`;
}
