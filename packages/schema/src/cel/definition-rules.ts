import { fieldErrors, type FieldError, type FieldPath, type Json, type JsonObject } from '@multiplane/apimachinery';
import { getOwn } from '@multiplane/apimachinery';
import { internalRule } from '../definition/internal-schema.ts';
import { namedSchemasOf, objectOf, propertyPath, schemasOf, stringOf } from '../definition/schema-document.ts';
import { compileRule, RuleEnvironment, ruleOf, type CompiledRule } from './compiled-rule.ts';
import { ceiling } from './cost-range.ts';
import { escapeFieldName } from './reserved-names.ts';
import { maxRequestBytes, schemaType, type SchemaType } from './schema-type.ts';

const expressionLimit = 10_000_000;
const definitionLimit = 100_000_000;

/** A place in a schema, seen from the rules. */
interface Place {
  readonly isRoot: boolean;
  /** Of this place; undefined: no ancestor needed it, it is derived from the schema alone. */
  readonly type: SchemaType | undefined;
  /** How often values of this place may occur in an object; undefined: no limit above. */
  readonly count: number | undefined;
  /** The enclosing list whose items cannot be correlated. */
  readonly uncorrelated: FieldPath | undefined;
}

/**
 * Judges the rules in the schema of a definition: every rule must compile, see old values only where these can
 * be found, and not be able to cost too much, alone or with all others. The schema is structural; the rules of schemas that
 * are `broken` in another way are not judged.
 */
export function validateDefinitionRules(
  schema: JsonObject,
  path: FieldPath,
  broken: ReadonlySet<JsonObject> = new Set(),
): FieldError[] {
  const judge = new DefinitionJudge(broken);
  judge.visit(schema, path, { isRoot: true, type: undefined, count: 1, uncorrelated: undefined });
  judge.total(path);
  return judge.errors;
}

class DefinitionJudge {
  readonly errors: FieldError[] = [];
  #cost = 0;
  /** The rules that cost most, the most expensive first. */
  #expensive: { readonly path: FieldPath; readonly cost: number }[] = [];
  readonly #broken: ReadonlySet<JsonObject>;

  constructor(broken: ReadonlySet<JsonObject>) {
    this.#broken = broken;
  }

  /** Children come first, as in Kubernetes. */
  visit(schema: JsonObject, path: FieldPath, place: Place): void {
    const rules = schemasOf(schema, 'x-kubernetes-validations');
    const type = place.type ?? (rules.length > 0 ? schemaType(schema, place.isRoot || isEmbedded(schema)) : undefined);
    const count = countBelow(schema, place.count);
    const additional = objectOf(schema, 'additionalProperties');
    const below: Place = { isRoot: false, type: undefined, count, uncorrelated: place.uncorrelated };
    if (additional !== undefined) {
      const uncorrelated = place.uncorrelated;
      this.visit(additional, path.child('additionalProperties'), { ...below, type: type?.item, uncorrelated });
    }
    for (const [name, property] of namedSchemasOf(schema, 'properties')) {
      const escaped = escapeFieldName(name);
      const field = escaped === undefined ? undefined : type?.fields?.get(escaped)?.type;
      this.visit(property, propertyPath(path, name), { ...below, type: field });
    }
    const items = objectOf(schema, 'items');
    if (items !== undefined) {
      const uncorrelated =
        place.uncorrelated ?? (getOwn(schema, 'x-kubernetes-list-type') === 'map' ? undefined : path);
      this.visit(items, path.child('items'), { ...below, type: type?.item, uncorrelated });
    }
    if (!this.#broken.has(schema)) this.#rules(rules, schema, type, path, place);
  }

  #rules(
    rules: readonly JsonObject[],
    schema: JsonObject,
    type: SchemaType | undefined,
    path: FieldPath,
    place: Place,
  ): void {
    if (rules.length === 0) return;
    const where = path.child('x-kubernetes-validations');
    if (type === undefined) {
      const cause =
        'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';
      this.errors.push(fieldErrors.internal(where, cause));
      return;
    }
    const environment = new RuleEnvironment(type);
    const times = place.count ?? Math.floor(maxRequestBytes / (type.minSize + 1));
    rules.forEach((source, index) => {
      const compiled = compileRule(ruleOf(source), type, schema, environment);
      this.#rule(source, compiled, where.index(index), times, place);
    });
  }

  #rule(source: JsonObject, compiled: CompiledRule, path: FieldPath, times: number, place: Place): void {
    const at = path.child('rule');
    const cost = compiled.cost === 0 ? 0 : Math.min(compiled.cost * times, ceiling);
    if (cost > expressionLimit) {
      this.errors.push(fieldErrors.forbidden(at, budgetText('estimated rule cost', cost, expressionLimit)));
    }
    this.#observe(at, cost);
    const value = internalRule(source);
    if (compiled.error !== undefined) this.errors.push(fieldErrors.invalid(at, value, compiled.error));
    this.#message(compiled, path.child('messageExpression'), value);
    if (compiled.usesOldSelf && place.uncorrelated !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${String(place.uncorrelated)}`;
      this.errors.push(fieldErrors.invalid(at, compiled.rule.rule, detail));
    } else if (!compiled.usesOldSelf && compiled.rule.optionalOldSelf !== undefined) {
      const detail = 'may not be set if oldSelf is not used in rule';
      this.errors.push(fieldErrors.invalid(path.child('optionalOldSelf'), compiled.rule.optionalOldSelf, detail));
    }
  }

  #message(compiled: CompiledRule, path: FieldPath, value: Json): void {
    if (compiled.messageError !== undefined) {
      this.errors.push(fieldErrors.invalid(path, value, compiled.messageError));
    } else if (compiled.message !== undefined) {
      if (compiled.messageCost > expressionLimit) {
        const detail = budgetText('estimated messageExpression cost', compiled.messageCost, expressionLimit);
        this.errors.push(fieldErrors.forbidden(path, detail));
      }
      this.#observe(path, compiled.messageCost);
    }
  }

  #observe(path: FieldPath, cost: number): void {
    this.#cost = Math.min(this.#cost + cost, ceiling);
    if (cost < definitionLimit / 100) return;
    this.#expensive = [...this.#expensive, { path, cost }].toSorted((a, b) => b.cost - a.cost).slice(0, 4);
  }

  total(path: FieldPath): void {
    if (this.#cost <= definitionLimit) return;
    const part = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    for (const expensive of this.#expensive) this.errors.push(fieldErrors.forbidden(expensive.path, part));
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    this.errors.push(fieldErrors.forbidden(path, budgetText(name, this.#cost, definitionLimit)));
  }
}

const isEmbedded = (schema: JsonObject): boolean => getOwn(schema, 'x-kubernetes-embedded-resource') === true;

/** How often the parts of a value may occur. */
function countBelow(schema: JsonObject, count: number | undefined): number | undefined {
  const type = stringOf(schema, 'type');
  const isMap = type === 'object' && (getOwn(schema, 'additionalProperties') ?? null) !== null;
  if (count === undefined) return undefined;
  if (!isMap && type !== 'array') return count;
  const most = getOwn(schema, isMap ? 'maxProperties' : 'maxItems');
  return typeof most === 'number' || typeof most === 'bigint' ? count * Math.max(Number(most), 0) : undefined;
}

function budgetText(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const text = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${text} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
