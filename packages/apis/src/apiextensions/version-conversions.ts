import {
  asJson,
  deepCopy,
  encodeJson,
  getOwn,
  isJsonObject,
  parseJson,
  setOwn,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  CelIssues,
  compileExpression,
  jsonOfValue,
  kubernetesEnvironment,
  schemaType,
  valueOf,
  type CelProgram,
  type SchemaType,
} from '@multiplane/schema';
import { objectAt } from '../fields.ts';
import type { APIConversion } from '../kcp/api-sharing.ts';

/** Followed by a version: what of that version another one cannot hold, by path. */
export const preservedFieldsPrefix = 'preserve.conversion.apis.kcp.io/';

/** `spec.conversions` of an APIConversion. */
export type VersionConversionRules = DeepReadonly<NonNullable<NonNullable<APIConversion['spec']>['conversions']>>;

/** Rules that one APIConversion may have: compiling more at once would hold up others. */
export const maxConversionRules = 128;
/**
 * What all transformations of one object may cost together, in units of the CEL cost model: a few milliseconds, in which no
 * other request is served. A provider's rules run on each object that any of its consumers reads.
 */
const maxCost = 50_000;
const charactersPerUnit = 10;
/** Characters of a transformation. */
const maxExpression = 4096;
/** Parts of the object that no conversion may touch. */
const untouchable = new Set(['apiVersion', 'kind', 'metadata']);

type Path = readonly string[];

/** What is left of {@link maxCost}. */
interface Budget {
  left: number;
}
type Transformation = (value: Json, budget: Budget) => Json;

interface CompiledRule {
  readonly field: Path;
  /** An earlier rule reads this place, or a part of it, or what it is a part of: the object grows. */
  readonly repeats: boolean;
  readonly destination: Path;
  /** Absent: the value is taken as it is. */
  readonly transform: Transformation | undefined;
}

interface CompiledConversion {
  readonly rules: readonly CompiledRule[];
  readonly preserve: readonly Path[];
}

/** Why rules cannot be used: where in `spec`, and what is wrong. */
export interface ConversionProblem {
  /** `conversions[0].rules[1].transformation`. */
  readonly field: string;
  readonly value: string;
  readonly detail: string;
}

/**
 * The rules of an APIConversion between the versions of a schema, compiled.
 *
 * An object of one version becomes one of another like this: what the rules read is read from the object as it was; each
 * value goes to its destination, through its expression where there is one, and a destination whose source is absent is
 * absent; what an earlier conversion preserved for the target version is restored; what `preserve` lists of the old
 * version is preserved in an annotation. All else stays in place, and the caller prunes fields unknown to the target version. So an object that goes to another version and back, without being changed there, is what it was, if
 * rules exist both ways and `preserve` lists what they lose.
 */
export class VersionConversions {
  /** Rules that cannot be used; objects that need one of their conversions cannot be shown. */
  readonly problems: readonly ConversionProblem[];
  readonly #byVersions = new Map<string, CompiledConversion | ConversionProblem>();
  /** By version: everything that some conversion from it preserves. No other path comes back from an annotation. */
  readonly #preserved = new Map<string, Set<string>>();

  /** `schemas`: the schema of each version. */
  constructor(conversions: VersionConversionRules, schemas: (version: string) => JsonObject | undefined) {
    const problems: ConversionProblem[] = [];
    let left = maxConversionRules;
    const types = new Map<JsonObject, SchemaType>();
    for (const [index, conversion] of conversions.entries()) {
      const { from, to, rules, preserve = [] } = conversion;
      const found: ConversionProblem[] = [];
      const where = `conversions[${index}]`;
      const [source, target] = [schemas(from), schemas(to)];
      if (source === undefined) found.push({ field: `${where}.from`, value: from, detail: 'no such version' });
      if (target === undefined) found.push({ field: `${where}.to`, value: to, detail: 'no such version' });
      if (from === to) found.push({ field: `${where}.to`, value: to, detail: 'must be another version than from' });
      left -= rules.length;
      if (left < 0) {
        const detail = `must have at most ${maxConversionRules} rules in all`;
        found.push({ field: `${where}.rules`, value: `${rules.length} rules`, detail });
      }
      if (source !== undefined && target !== undefined && found.length === 0) {
        const compiled = compileConversion({ rules, preserve }, { where, source, target, types, found });
        this.#byVersions.set(`${from}→${to}`, found[0] ?? compiled);
        const paths = this.#preserved.get(from) ?? new Set();
        for (const path of compiled.preserve) paths.add(path.join('.'));
        this.#preserved.set(from, paths);
      } else if (found[0] !== undefined) {
        this.#byVersions.set(`${from}→${to}`, found[0]);
      }
      problems.push(...found);
    }
    this.problems = problems;
  }

  /** In place; apiVersion and pruning are the caller's. Throws {@link ConversionError}. */
  convert(object: KubeObject, from: string, to: string): void {
    const conversion = this.#byVersions.get(`${from}→${to}`);
    if (conversion === undefined) {
      this.#restore(object, to);
      return;
    }
    if ('detail' in conversion) {
      throw new ConversionError(from, to, `${conversion.field}: ${conversion.detail}`);
    }
    const json = asJson(object);
    const budget: Budget = { left: maxCost };
    const values = conversion.rules.map((rule) => {
      const value = read(json, rule.field);
      if (value === undefined) return undefined;
      try {
        return rule.transform === undefined ? copyOf(value, rule, budget) : rule.transform(value, budget);
      } catch (error) {
        throw new ConversionError(from, to, `${rule.field.join('.')}: ${(error as Error).message}`, error);
      }
    });
    const aside: JsonObject = {};
    for (const path of conversion.preserve) {
      const value = read(json, path);
      if (value !== undefined) setOwn(aside, path.join('.'), deepCopy(value));
    }
    for (const [index, { destination }] of conversion.rules.entries()) {
      const value = values[index];
      if (value === undefined) remove(json, destination);
      else write(json, destination, value);
    }
    this.#restore(object, to);
    const key = `${preservedFieldsPrefix}${from}`;
    if (Object.keys(aside).length > 0) {
      object.metadata.annotations = { ...object.metadata.annotations, [key]: encodeJson(aside) };
    } else if (conversion.preserve.length > 0) {
      dropAnnotation(object, key);
    }
  }

  /** What was put aside for this version comes back. */
  #restore(object: KubeObject, version: string): void {
    const key = `${preservedFieldsPrefix}${version}`;
    const text = object.metadata.annotations?.[key];
    const known = this.#preserved.get(version);
    if (text === undefined || known === undefined) return;
    dropAnnotation(object, key);
    const values = parsed(text);
    for (const path of known) {
      const value = getOwn(values, path);
      if (value !== undefined) write(asJson(object), path.split('.'), value);
    }
  }
}

/** An object cannot be shown in a version, or not be stored. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
  constructor(from: string, to: string, detail: string, cause?: unknown) {
    super(`conversion from ${from} to ${to} failed: ${detail}`, { cause });
  }
}

interface Place {
  readonly where: string;
  readonly source: JsonObject;
  readonly target: JsonObject;
  /** Types of the places in the schemas that rules have met. */
  readonly types: Map<JsonObject, SchemaType>;
  readonly found: ConversionProblem[];
}

function compileConversion(
  { rules, preserve }: Pick<VersionConversionRules[number], 'rules'> & { readonly preserve: readonly string[] },
  { where, source, target, types, found }: Place,
): CompiledConversion {
  const sources: Path[] = [];
  return {
    rules: rules.flatMap(({ field, destination, transformation = '' }, index) => {
      const at = `${where}.rules[${index}]`;
      const from = pathIn(field, source);
      const to = pathIn(destination, target);
      if ('detail' in from) found.push({ field: `${at}.field`, value: field, detail: from.detail });
      if ('detail' in to) found.push({ field: `${at}.destination`, value: destination, detail: to.detail });
      if ('detail' in from || 'detail' in to) return [];
      try {
        const transform = transformation === '' ? undefined : compileTransformation(transformation, from.schema, types);
        const repeats = sources.some((path) => overlap(path, from.path));
        sources.push(from.path);
        return [{ field: from.path, repeats, destination: to.path, transform }];
      } catch (error) {
        if (!(error instanceof CelIssues) && !(error instanceof RangeError)) throw error;
        found.push({ field: `${at}.transformation`, value: transformation, detail: error.message });
        return [];
      }
    }),
    preserve: preserve.flatMap((text, index) => {
      const path = pathIn(text, source);
      if (!('detail' in path)) return [path.path];
      found.push({ field: `${where}.preserve[${index}]`, value: text, detail: path.detail });
      return [];
    }),
  };
}

function compileTransformation(
  expression: string,
  schema: JsonObject,
  types: Map<JsonObject, SchemaType>,
): Transformation {
  if (expression.length > maxExpression) {
    throw new RangeError(`must have at most ${maxExpression} characters`);
  }
  const type = types.get(schema) ?? schemaType(schema, false) ?? anything;
  types.set(schema, type);
  const program = compileExpression(expression, kubernetesEnvironment({ self: type.type }));
  return (value, budget) => evaluate(program, value, type, budget);
}

function evaluate(program: CelProgram, value: Json, type: SchemaType, budget: Budget): Json {
  const outcome = program.evaluate({ self: valueOf(value, type) }, budget.left);
  budget.left = Math.max(0, budget.left - outcome.cost);
  if (outcome.error !== undefined) throw outcome.error;
  return jsonOfValue(outcome.value);
}

/** What is moved once is free, however big; what is copied again and again is not. */
function copyOf(value: Json, { repeats }: CompiledRule, budget: Budget): Json {
  if (repeats) {
    budget.left -= encodeJson(value).length / charactersPerUnit;
    if (budget.left < 0) throw new RangeError('too much is copied');
  }
  return deepCopy(value);
}

const overlap = (a: Path, b: Path): boolean => {
  const common = Math.min(a.length, b.length);
  return a.slice(0, common).join('.') === b.slice(0, common).join('.');
};

/** Fields whose content the schema leaves open. */
const anything = schemaType({ 'x-kubernetes-int-or-string': true }, false) as SchemaType;

/** A path without wildcards (`.spec.name.first`, the first dot may be missing) and what the schema says of the place. */
function pathIn(
  text: string,
  schema: JsonObject,
): { readonly path: Path; readonly schema: JsonObject } | { detail: string } {
  const path = (text.startsWith('.') ? text.slice(1) : text).split('.');
  if (path.includes('')) return { detail: 'must be names of fields, joined by dots' };
  if (untouchable.has(path[0] as string)) return { detail: `${path[0] as string} cannot be converted` };
  let place = schema;
  for (const [index, name] of path.entries()) {
    const properties = objectAt(place, 'properties');
    const property = properties === undefined ? undefined : getOwn(properties, name);
    const next = isJsonObject(property) ? property : objectAt(place, 'additionalProperties');
    if (next === undefined) {
      if (getOwn(place, 'x-kubernetes-preserve-unknown-fields') === true) return { path, schema: {} };
      return { detail: `field ${JSON.stringify(path.slice(0, index + 1).join('.'))} does not exist` };
    }
    place = next;
  }
  return { path, schema: place };
}

function read(object: JsonObject, path: Path): Json | undefined {
  let value: Json | undefined = object;
  for (const name of path) {
    if (!isJsonObject(value)) return undefined;
    value = getOwn(value, name);
  }
  return value ?? undefined;
}

/** What is no object on the way to the place gives way: a field may become an object of the same name. */
function write(object: JsonObject, path: Path, value: Json): void {
  let place = object;
  for (const name of path.slice(0, -1)) {
    let next = getOwn(place, name);
    if (!isJsonObject(next)) {
      next = {};
      setOwn(place, name, next);
    }
    place = next;
  }
  setOwn(place, path.at(-1) as string, value);
}

function remove(object: JsonObject, path: Path): void {
  const parent = read(object, path.slice(0, -1));
  if (isJsonObject(parent)) delete parent[path.at(-1) as string];
}

function dropAnnotation({ metadata }: KubeObject, key: string): void {
  if (metadata.annotations === undefined || !Object.hasOwn(metadata.annotations, key)) return;
  const { [key]: _dropped, ...rest } = metadata.annotations;
  if (Object.keys(rest).length > 0) metadata.annotations = rest;
  else delete metadata.annotations;
}

/** A client may have written anything into an annotation. */
function parsed(text: string): JsonObject {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
