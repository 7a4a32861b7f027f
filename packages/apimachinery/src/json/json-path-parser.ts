import { quote } from '../go/go-quote.ts';

/** A path that cannot be understood. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

export type JsonPathOperator = '==' | '!=' | '<' | '<=' | '>' | '>=';

export type JsonPathOperand =
  | { readonly type: 'literal'; readonly value: string | number | boolean | null }
  | { readonly type: 'path'; readonly steps: readonly JsonPathStep[] };

/** `@.a == "b"`; without an operator: `@.a` exists. */
export interface JsonPathFilter {
  readonly left: JsonPathOperand;
  readonly operator: JsonPathOperator | 'exists';
  readonly right: JsonPathOperand | undefined;
}

export type JsonPathStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  | { readonly type: 'recursive' }
  | {
      readonly type: 'slice';
      readonly single: boolean;
      readonly from: number;
      readonly to: number | undefined;
      readonly step: number;
    }
  | { readonly type: 'union'; readonly parts: readonly JsonPathStep[] }
  | { readonly type: 'filter'; readonly filter: JsonPathFilter };

const maxLength = 4_096;
const maxNestedFilters = 8;
const endsName = ' \t\r\n.,[]()=!<>|&?@$\'"{}';
const operators = ['==', '!=', '<=', '>=', '<', '>'] as const;

/** The steps of a path, with or without braces. Throws {@link JsonPathError}. */
export function parseJsonPathSteps(text: string): readonly JsonPathStep[] {
  if (text.length > maxLength) throw new JsonPathError(`path is longer than ${maxLength} characters`);
  let source = text.trim();
  if (source.startsWith('{')) {
    if (!source.endsWith('}')) throw new JsonPathError('unclosed action');
    source = source.slice(1, -1).trim();
  }
  const parser = new Parser(source);
  const steps = parser.path(0);
  parser.expectEnd();
  return steps;
}

class Parser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  expectEnd(): void {
    if (this.#position < this.#text.length) this.#fail();
  }

  /** Steps up to the first character that begins none. */
  path(nesting: number): JsonPathStep[] {
    const steps: JsonPathStep[] = [];
    if (this.#peek() === '$' || this.#peek() === '@') this.#position++;
    for (;;) {
      if (this.#take('..')) {
        steps.push({ type: 'recursive' });
        if (this.#peek() !== '[') steps.push(this.#member());
      } else if (this.#take('.')) {
        // `.` alone is the document, `.[` is `[`.
        const next = this.#peek();
        if (next !== '[' && (next !== undefined || steps.length > 0)) steps.push(this.#member());
      } else if (this.#take('[')) {
        steps.push(this.#bracket(nesting));
      } else if (steps.length === 0 && this.#position === 0 && this.#text !== '') {
        steps.push(this.#member());
      } else {
        return steps;
      }
    }
  }

  #member(): JsonPathStep {
    if (this.#take('*')) return { type: 'wildcard' };
    let name = '';
    for (let char = this.#peek(); char !== undefined && !endsName.includes(char); char = this.#peek()) {
      this.#position++;
      if (char === '\\') {
        const escaped = this.#peek() ?? this.#fail();
        this.#position++;
        name += escaped;
      } else {
        name += char;
      }
    }
    if (name === '') this.#fail();
    return { type: 'field', name };
  }

  #bracket(nesting: number): JsonPathStep {
    this.#blanks();
    if (this.#take('?(')) return this.#filter(nesting);
    const parts: JsonPathStep[] = [];
    do {
      this.#blanks();
      parts.push(this.#selector());
      this.#blanks();
    } while (this.#take(','));
    if (!this.#take(']')) this.#fail();
    return parts.length === 1 ? (parts[0] as JsonPathStep) : { type: 'union', parts };
  }

  #selector(): JsonPathStep {
    if (this.#take('*')) return { type: 'wildcard' };
    const char = this.#peek();
    if (char === "'" || char === '"') return { type: 'field', name: this.#string() };
    const numbers = [this.#integer()];
    while (numbers.length < 3 && this.#take(':')) numbers.push(this.#integer());
    const [from, to, step = 1] = numbers;
    if (numbers.length === 1)
      return from === undefined ? this.#member() : { type: 'slice', single: true, from, to: undefined, step: 1 };
    if (step <= 0) throw new JsonPathError('step must be > 0');
    return { type: 'slice', single: false, from: from ?? 0, to, step };
  }

  #filter(nesting: number): JsonPathStep {
    if (nesting >= maxNestedFilters) throw new JsonPathError('filters are nested too deep');
    const left = this.#operand(nesting + 1);
    this.#blanks();
    const operator = operators.find((candidate) => this.#take(candidate));
    const right = operator === undefined ? undefined : this.#operand(nesting + 1);
    this.#blanks();
    if (!this.#take(')]')) this.#fail();
    return { type: 'filter', filter: { left, operator: operator ?? 'exists', right } };
  }

  #operand(nesting: number): JsonPathOperand {
    this.#blanks();
    const char = this.#peek();
    if (char === '@' || char === '$') return { type: 'path', steps: this.path(nesting) };
    if (char === "'" || char === '"') return { type: 'literal', value: this.#string() };
    const start = this.#position;
    while (this.#position < this.#text.length && !' \t)=!<>'.includes(this.#text[this.#position] as string))
      this.#position++;
    const word = this.#text.slice(start, this.#position);
    if (word === 'true' || word === 'false') return { type: 'literal', value: word === 'true' };
    if (word === 'null') return { type: 'literal', value: null };
    const number = Number(word);
    if (word === '' || !Number.isFinite(number)) this.#fail();
    return { type: 'literal', value: number };
  }

  #string(): string {
    const mark = this.#peek() as string;
    this.#position++;
    let value = '';
    for (;;) {
      const char = this.#peek();
      if (char === undefined) throw new JsonPathError('unterminated quoted string');
      this.#position++;
      if (char === mark) return value;
      if (char === '\\') {
        value += this.#peek() ?? '';
        this.#position++;
      } else {
        value += char;
      }
    }
  }

  #integer(): number | undefined {
    const start = this.#position;
    if (this.#peek() === '-') this.#position++;
    while ((this.#peek() ?? '') >= '0' && (this.#peek() ?? '') <= '9') this.#position++;
    const text = this.#text.slice(start, this.#position);
    if (text === '' || text === '-') {
      this.#position = start;
      return undefined;
    }
    return Number(text);
  }

  #peek(): string | undefined {
    return this.#text[this.#position];
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#position)) return false;
    this.#position += token.length;
    return true;
  }

  #blanks(): void {
    while (' \t\r\n'.includes(this.#peek() ?? 'x')) this.#position++;
  }

  #fail(): never {
    throw new JsonPathError(`unrecognized character in path at ${this.#position}: ${quote(this.#text.slice(0, 64))}`);
  }
}
