import { encodeJson } from './json-codec.ts';
import {
  parseJsonPathSteps,
  type JsonPathFilter,
  type JsonPathOperand,
  type JsonPathStep,
} from './json-path-parser.ts';
import { deepEqual, getOwn, isJsonObject, type DeepReadonly, type Json } from './json.ts';

export { JsonPathError } from './json-path-parser.ts';

type Value = DeepReadonly<Json>;

/** Recursive steps could multiply results without end. */
const maxResults = 10_000;

/**
 * A path in kubectl's dialect (the subset that additional printer columns and selectable fields use): `.spec.x`,
 * `['a.b']`, `[0]`, `[-1:]`, `[0:4:2]`, `[*]`, `.*`, `..x`, `[a,b]`, `[?(@.type=="Ready")]`. Missing keys find nothing.
 * Immutable; safe on any value, own properties only.
 */
export class JsonPath {
  readonly text: string;
  readonly #steps: readonly JsonPathStep[];

  /** Throws {@link JsonPathError}. Braces around the path may be left out. */
  constructor(text: string) {
    this.text = text;
    this.#steps = parseJsonPathSteps(text);
  }

  /** Everything the path leads to, in the order of the document. */
  find(value: Value): Value[] {
    return evaluate(this.#steps, [value]);
  }

  /** The first of {@link find}. */
  first(value: Value): Value | undefined {
    return this.find(value)[0];
  }
}

/** A result as text: strings as they are, everything else as JSON. */
export function jsonPathText(value: Value): string {
  return typeof value === 'string' ? value : encodeJson(value);
}

function evaluate(steps: readonly JsonPathStep[], start: Value[]): Value[] {
  let values = start;
  for (const step of steps) {
    const next: Value[] = [];
    for (const value of values) {
      collect(step, value, next);
      if (next.length > maxResults) return next.slice(0, maxResults);
    }
    values = next;
  }
  return values;
}

function collect(step: JsonPathStep, value: Value, found: Value[]): void {
  switch (step.type) {
    case 'field': {
      const member = isJsonObject(value) ? getOwn(value, step.name) : undefined;
      if (member !== undefined) found.push(member);
      return;
    }
    case 'wildcard':
      if (typeof value === 'object' && value !== null) for (const item of Object.values<Value>(value)) found.push(item);
      return;
    case 'recursive':
      descend(value, found);
      return;
    case 'slice':
      if (Array.isArray(value)) slice(value as readonly Value[], step, found);
      return;
    case 'union':
      for (const part of step.parts) collect(part, value, found);
      return;
    case 'filter':
      if (!Array.isArray(value)) return;
      for (const item of value as readonly Value[]) if (satisfies(step.filter, item)) found.push(item);
      return;
  }
}

function descend(value: Value, found: Value[]): void {
  if (typeof value !== 'object' || value === null || found.length > maxResults) return;
  found.push(value);
  for (const item of Object.values<Value>(value)) descend(item, found);
}

function slice(list: readonly Value[], step: JsonPathStep & { readonly type: 'slice' }, found: Value[]): void {
  const absolute = (index: number): number => (index < 0 ? index + list.length : index);
  const from = Math.max(0, absolute(step.from));
  if (step.single) {
    const item = absolute(step.from) < 0 ? undefined : list[from];
    if (item !== undefined) found.push(item);
    return;
  }
  const to = Math.min(list.length, step.to === undefined ? list.length : absolute(step.to));
  for (let index = from; index < to; index += step.step) found.push(list[index] as Value);
}

function satisfies({ left, operator, right }: JsonPathFilter, item: Value): boolean {
  const actual = operand(left, item);
  if (operator === 'exists') return actual !== undefined;
  const expected = right === undefined ? undefined : operand(right, item);
  if (actual === undefined || expected === undefined) return false;
  switch (operator) {
    case '==':
      return deepEqual(actual, expected);
    case '!=':
      return !deepEqual(actual, expected);
    default:
      return compare(operator, actual, expected);
  }
}

function compare(operator: '<' | '<=' | '>' | '>=', a: Value, b: Value): boolean {
  const numbers = (typeof a === 'number' || typeof a === 'bigint') && (typeof b === 'number' || typeof b === 'bigint');
  if (!numbers && !(typeof a === 'string' && typeof b === 'string')) return false;
  switch (operator) {
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
  }
}

const operand = (source: JsonPathOperand, item: Value): Value | undefined =>
  source.type === 'literal' ? source.value : evaluate(source.steps, [item])[0];
