import { quote } from '../go/go-quote.ts';
import { unquoteGo } from '../go/go-unquote.ts';

/** A path that cannot be parsed. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** `a:b:c` in brackets; a bound that is absent is undefined. */
export interface JsonPathSlice {
  readonly type: 'slice';
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly step: number | undefined;
  /** `[n]`: `to` is `from + 1`, which is the end of the list for -1. */
  readonly isIndex: boolean;
}

export type JsonPathStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  | { readonly type: 'recursive' }
  | JsonPathSlice
  | { readonly type: 'union'; readonly parts: readonly (readonly JsonPathStep[])[] }
  | {
      readonly type: 'filter';
      readonly left: readonly JsonPathStep[];
      readonly right: readonly JsonPathStep[];
      /** As written: one that does not exist is reported when the path is evaluated, as in Kubernetes. */
      readonly operator: string;
    }
  /** A number, a boolean or a quoted text; it replaces what the steps before it found. `isFloat`: Go does not compare it to integers. */
  | { readonly type: 'literal'; readonly value: string | number | boolean; readonly isFloat?: boolean }
  /** A word outside of a field, such as `range`: only evaluating it is an error. */
  | { readonly type: 'identifier'; readonly name: string };

/** What stands in braces. */
export type JsonPathBlock = readonly JsonPathStep[];

const maxLength = 4_096;
/** Actions in brackets within actions in brackets. */
const maxNesting = 16;
const terminators = new Set([' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}']);
const letterOrDigit = /^[_\p{L}\p{Nd}]/u;
const digit = /^\p{Nd}/u;
const comparison = /^([^!<>=]+)([!<>=]+)([^\n]+?)$/;
const quotedKey = /^'([^']*)'$/;
const bounds = /^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$/;
const integer = /^[+-]?[0-9]+$/;
const decimal = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/;
const maxInt64 = 2n ** 63n - 1n;

/**
 * The blocks of a template in client-go's dialect (k8s.io/client-go/util/jsonpath); the text between them is left out. Throws
 * {@link JsonPathError} for what client-go's parser refuses.
 */
export function parseJsonPath(text: string): readonly JsonPathBlock[] {
  if (text.length > maxLength) throw new JsonPathError(`path is longer than ${maxLength} characters`);
  return new Parser(text, 0).template();
}

class Parser {
  readonly #text: string;
  readonly #nesting: number;
  #position = 0;

  constructor(text: string, nesting: number) {
    if (nesting > maxNesting) throw new JsonPathError(`nested deeper than ${maxNesting} levels`);
    this.#text = text;
    this.#nesting = nesting;
  }

  template(): JsonPathBlock[] {
    const blocks: JsonPathBlock[] = [];
    for (;;) {
      const start = this.#text.indexOf('{', this.#position);
      if (start < 0) return blocks;
      this.#position = start + 1;
      blocks.push(this.#action());
    }
  }

  /** Up to the brace that closes it. */
  #action(): JsonPathStep[] {
    const steps: JsonPathStep[] = [];
    for (;;) {
      if (this.#take('}')) return steps;
      if (this.#take('[?(')) steps.push(this.#filter());
      else if (this.#take('..')) this.#recursive(steps);
      else this.#simpleStep(steps);
    }
  }

  #simpleStep(steps: JsonPathStep[]): void {
    const char = this.#peek();
    if (char === undefined || char === '\n' || char === '\r') throw new JsonPathError('unclosed action');
    if (char === ' ' || char === '@' || char === '$') this.#position++;
    else if (char === '[') steps.push(...this.#brackets());
    else if (char === '"' || char === "'") steps.push(this.#quoted(char));
    else if (char === '.') {
      this.#position++;
      steps.push(this.#field());
    } else if (char === '+' || char === '-' || digit.test(char)) steps.push(this.#number());
    else if (letterOrDigit.test(char)) steps.push(this.#identifier());
    else throw new JsonPathError(`unrecognized character in action: ${quote(char)}`);
  }

  #recursive(steps: JsonPathStep[]): void {
    if (steps.at(-1)?.type === 'recursive') throw new JsonPathError('invalid multiple recursive descent');
    steps.push({ type: 'recursive' });
    if (letterOrDigit.test(this.#peek() ?? '')) steps.push(this.#field());
  }

  #field(): JsonPathStep {
    const start = this.#position;
    for (let char = this.#peek(); char !== undefined && !terminators.has(char); char = this.#peek()) {
      this.#position += char.length;
      if (char === '\\') this.#position += this.#peek()?.length ?? 0;
    }
    const name = this.#text.slice(start, this.#position);
    return name === '*' ? { type: 'wildcard' } : { type: 'field', name: name.replaceAll('\\', '') };
  }

  #identifier(): JsonPathStep {
    const start = this.#position;
    for (let char = this.#peek(); char !== undefined && !terminators.has(char); char = this.#peek())
      this.#position += char.length;
    const name = this.#text.slice(start, this.#position);
    return name === 'true' || name === 'false'
      ? { type: 'literal', value: name === 'true' }
      : { type: 'identifier', name };
  }

  #number(): JsonPathStep {
    const start = this.#position;
    const first = this.#peek() as string;
    if (first === '+' || first === '-') this.#position++;
    for (let char = this.#peek(); char !== undefined && (char === '.' || digit.test(char)); char = this.#peek())
      this.#position += char.length;
    const text = this.#text.slice(start, this.#position);
    const value = decimal.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) throw new JsonPathError(`cannot parse number ${text}`);
    return { type: 'literal', value, isFloat: !Number.isSafeInteger(value) || text.includes('.') };
  }

  #quoted(mark: '"' | "'"): JsonPathStep {
    const start = ++this.#position;
    for (;;) {
      const char = this.#peek();
      if (char === undefined || char === '\n') throw new JsonPathError('unterminated quoted string');
      this.#position += char.length;
      if (char === mark && this.#text[this.#position - 2] !== '\\') break;
    }
    const content = this.#text.slice(start, this.#position - 1);
    const value = unquoteGo(content, mark);
    if (value === undefined) throw new JsonPathError(`unquote string ${mark}${content}${mark} error invalid syntax`);
    return { type: 'literal', value };
  }

  /** `[…]` that is no filter. It ends at the first bracket, also in quotes. */
  #brackets(): readonly JsonPathStep[] {
    const start = ++this.#position;
    const end = this.#text.indexOf(']', start);
    const text = end < 0 ? '' : this.#text.slice(start, end);
    if (end < 0 || text.includes('\n')) throw new JsonPathError('unterminated array');
    this.#position = end + 1;
    const parts = text.split(',');
    if (parts.length > 1)
      return [{ type: 'union', parts: parts.map((part) => this.#nested(`[${part.replaceAll(/^ +| +$/g, '')}]`)) }];
    const key = quotedKey.exec(text)?.[1];
    if (key !== undefined) return this.#nested(`.${key}`);
    return [sliceOf(text === '*' ? ':' : text)];
  }

  #filter(): JsonPathStep {
    const start = this.#position;
    let mark: string | undefined;
    let isQuoted = false;
    for (;;) {
      const char = this.#peek();
      if (char === undefined || char === '\n') throw new JsonPathError('unterminated filter');
      this.#position += char.length;
      if (char === ')' && !isQuoted) break;
      if (char !== '"' && char !== "'") continue;
      // Parentheses of the first quoted text only do not end the filter.
      if (mark === undefined) {
        mark = char;
        isQuoted = true;
      } else if (char === mark && this.#text[this.#position - 2] !== '\\') isQuoted = false;
    }
    const text = this.#text.slice(start, this.#position - 1);
    if (!this.#take(']')) throw new JsonPathError('unclosed array expect ]');
    const [, left, operator, right] = comparison.exec(text) ?? [];
    if (left === undefined || operator === undefined || right === undefined)
      return { type: 'filter', left: this.#nested(text), right: [], operator: 'exists' };
    return { type: 'filter', left: this.#nested(left), right: this.#nested(right), operator };
  }

  /** What follows a brace that closes it is ignored. */
  #nested(text: string): JsonPathBlock {
    return new Parser(`{${text}}`, this.#nesting + 1).template()[0] as JsonPathBlock;
  }

  #peek(): string | undefined {
    const codePoint = this.#text.codePointAt(this.#position);
    return codePoint === undefined ? undefined : String.fromCodePoint(codePoint);
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#position)) return false;
    this.#position += token.length;
    return true;
  }
}

/** `[]` is `[0]`. */
function sliceOf(text: string): JsonPathSlice {
  const match = bounds.exec(text);
  if (match === null) throw new JsonPathError(`invalid array index ${text}`);
  const [, from = '', to, step] = match;
  return {
    type: 'slice',
    from: numberOf(from),
    to: to === undefined ? undefined : numberOf(to.slice(1)),
    step: step === undefined ? undefined : numberOf(step.slice(1)),
    isIndex: to === undefined,
  };
}

function numberOf(text: string): number | undefined {
  if (text === '') return undefined;
  const isNumber = integer.test(text) && text.length < 64;
  const value = isNumber ? BigInt(text) : 0n;
  if (!isNumber || value > maxInt64 || value < -maxInt64 - 1n)
    throw new JsonPathError(`array index ${text} is not a number`);
  return Number(value);
}
