import { goNumeric } from '../go/go-float.ts';
import { compareBytewise, encodeJsonGo } from './json-encoder.ts';
import { parseJsonPath, type JsonPathBlock, type JsonPathSlice, type JsonPathStep } from './json-path-parser.ts';
import { getOwn, isJsonObject, type DeepReadonly, type Json } from './json.ts';

export { JsonPathError } from './json-path-parser.ts';

type Value = DeepReadonly<Json>;
type FilterStep = JsonPathStep & { readonly type: 'filter' };

/** Values that {@link JsonPath.find} may still visit; several paths may share it. */
export interface JsonPathBudget {
  visits: number;
}

/** Recursive steps multiply what they find. */
const defaultVisits = 100_000;

/** An error of client-go's evaluation, with what its caller gets besides; the whole path then finds nothing. */
class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
  readonly partial: readonly Value[];

  constructor(message: string, partial: readonly Value[]) {
    super(message);
    this.partial = partial;
  }
}

/**
 * A path as printer columns and selectable fields have it, with the syntax and the results of client-go's jsonpath package that
 * allows missing keys: `.spec.x`, `.labels.a\.b`, `[0]`, `[]` (the same), `[-1:]`, `[0:4:2]`, `[*]`, `.*`, `..x`, `[0,1]`,
 * `[?(@.type=="Ready")]`. Immutable; safe on any value, own properties only.
 */
export class JsonPath {
  readonly text: string;
  readonly #blocks: readonly JsonPathBlock[];

  /** Throws {@link JsonPathError}. Braces are put around the path. */
  constructor(text: string) {
    this.text = text;
    this.#blocks = parseJsonPath(`{${text}}`);
  }

  /** What the path leads to, in the order of the document; nothing where client-go's evaluation fails or the budget is used up. */
  find(value: Value, budget: JsonPathBudget = { visits: defaultVisits }): readonly Value[] {
    try {
      const evaluation = new Evaluation(budget);
      // An error in a later block counts, its results do not.
      const [found = []] = this.#blocks.map((block) => evaluation.all(block, [value]));
      return found;
    } catch (error) {
      if (error instanceof EvaluationError) return [];
      throw error;
    }
  }

  /** The first of {@link find}. */
  first(value: Value, budget?: JsonPathBudget): Value | undefined {
    return this.find(value, budget)[0];
  }
}

/** A result as client-go prints it: objects and lists as JSON, all else as Go's `%v`. */
export function jsonPathText(value: Value): string {
  if (value === null) return '<no value>';
  if (typeof value === 'object') return encodeJsonGo(value, { sortKeys: true });
  return typeof value === 'number' || typeof value === 'bigint' ? goNumeric(value) : String(value);
}

class Evaluation {
  readonly #budget: JsonPathBudget;

  constructor(budget: JsonPathBudget) {
    this.#budget = budget;
  }

  all(steps: readonly JsonPathStep[], start: readonly Value[]): readonly Value[] {
    let values = start;
    for (const step of steps) values = this.#step(step, values);
    return values;
  }

  #visit(): void {
    if (--this.#budget.visits < 0) throw new EvaluationError('path finds too many values', []);
  }

  #step(step: JsonPathStep, input: readonly Value[]): readonly Value[] {
    this.#visit();
    const found: Value[] = [];
    switch (step.type) {
      case 'field':
        for (const value of input) {
          this.#visit();
          const member = isJsonObject(value) ? getOwn(value, step.name) : undefined;
          if (member !== undefined) found.push(member);
        }
        return found;
      case 'wildcard':
        for (const value of input) this.#children(value, (child) => found.push(child));
        return found;
      case 'recursive':
        for (const value of input) this.#descend(value, found);
        return found;
      case 'slice':
        this.#slice(step, input, found);
        return found;
      case 'union':
        try {
          for (const part of step.parts) for (const value of this.all(part, input)) found.push(value);
        } catch (error) {
          throw error instanceof EvaluationError ? new EvaluationError(error.message, input) : error;
        }
        return found;
      case 'filter':
        for (const value of input) this.#filter(step, value, input, found);
        return found;
      case 'literal':
        // Go repeats numbers for each input, but not text.
        return typeof step.value === 'string' ? [step.value] : input.map(() => step.value);
      case 'identifier':
        // `range` and `end` only make sense in templates that print several blocks, and a column has the first one.
        throw new EvaluationError(`unrecognized identifier ${step.name}`, step.name === 'end' ? [] : input);
    }
  }

  #children(value: Value, add: (child: Value) => void): void {
    if (typeof value !== 'object' || value === null) return;
    for (const child of Object.values<Value>(value)) {
      this.#visit();
      add(child);
    }
  }

  /** Go counts non-empty text among what has children. */
  #descend(value: Value, found: Value[]): void {
    if (typeof value === 'string' && value !== '') found.push(value);
    if (typeof value !== 'object' || value === null) return;
    const children = Object.values<Value>(value);
    if (children.length > 0) found.push(value);
    for (const child of children) {
      this.#visit();
      this.#descend(child, found);
    }
  }

  #slice(step: JsonPathSlice, input: readonly Value[], found: Value[]): void {
    for (const list of input) {
      this.#visit();
      if (list === null) continue;
      if (!Array.isArray(list)) throw new EvaluationError('value is not array or slice', input);
      const { length } = list;
      const first = step.from ?? 0;
      const from = first < 0 ? first + length : first;
      const last = step.isIndex ? first + 1 : (step.to ?? length);
      const to = last < 0 || (last === 0 && step.isIndex) ? last + length : last;
      // Go ends here, whatever follows.
      if (from === to) return;
      if (from < 0 || from >= length || to < 0 || to > length || from > to)
        throw new EvaluationError('array index out of bounds', input);
      const increment = step.step ?? 1;
      if (increment <= 0) throw new EvaluationError('step must be > 0', input);
      for (let index = from; index < to; index += increment) {
        this.#visit();
        found.push(list[index] as Value);
      }
    }
  }

  #filter(step: FilterStep, list: Value, input: readonly Value[], found: Value[]): void {
    if (!Array.isArray(list)) throw new EvaluationError('value is not array or slice and cannot be filtered', input);
    for (const item of list as readonly Value[]) {
      this.#visit();
      if (step.operator === 'exists') {
        if (this.#exists(step.left, item)) found.push(item);
        continue;
      }
      const left = this.#operand(step.left, item, input);
      if (left === undefined) continue;
      const right = this.#operand(step.right, item, input);
      if (right === undefined) continue;
      if (satisfies(left, step.operator, right, input)) found.push(item);
    }
  }

  /** Of a path that fails Go looks at what it found before. */
  #exists(steps: readonly JsonPathStep[], item: Value): boolean {
    try {
      return this.all(steps, [item]).length > 0;
    } catch (error) {
      if (error instanceof EvaluationError && this.#budget.visits > 0) return error.partial.length > 0;
      throw error;
    }
  }

  #operand(steps: readonly JsonPathStep[], item: Value, input: readonly Value[]): Operand | undefined {
    const values = this.all(steps, [item]);
    if (values.length > 1) throw new EvaluationError('can only compare one element at a time', input);
    const [value] = values;
    if (value === undefined) return undefined;
    const last = steps.at(-1);
    return { value, kind: last?.type === 'literal' && last.isFloat === true ? 'float' : kindOf(value) };
  }
}

type Kind = 'bool' | 'int' | 'float' | 'string' | undefined;

interface Operand {
  readonly value: Value;
  readonly kind: Kind;
}

/** Undefined: Go does not compare it. */
function kindOf(value: Value): Kind {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'bigint':
      return BigInt.asIntN(64, value) === value ? 'int' : 'float';
    case 'number':
      return Number.isSafeInteger(value) ? 'int' : 'float';
    default:
      return undefined;
  }
}

function satisfies(left: Operand, operator: string, right: Operand, input: readonly Value[]): boolean {
  const { kind } = left;
  const fail = (message: string): never => {
    throw new EvaluationError(message, input);
  };
  const isEquality = operator === '==' || operator === '!=';
  const hasOrder = operator === '<' || operator === '<=' || operator === '>' || operator === '>=';
  if (!isEquality && !hasOrder) fail(`unrecognized filter operator ${operator}`);
  if (kind === undefined || right.kind === undefined) fail('invalid type for comparison');
  if (kind !== right.kind) fail('incompatible types for comparison');
  if (kind === 'bool' && hasOrder) fail('invalid type for comparison');
  const order = compare(left.value, right.value);
  switch (operator) {
    case '==':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    default:
      return order >= 0;
  }
}

function compare(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytewise(a, b);
  const [x, y] = [a as number | bigint, b as number | bigint];
  return x === y ? 0 : x < y ? -1 : x > y ? 1 : 0;
}
