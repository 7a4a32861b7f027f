import { runToCompletion } from '../async/run-to-completion.ts';
import { setOwn, type Json, type JsonArray, type JsonObject } from './json.ts';
import { keepLiteral, type NumberLiterals } from './number-literals.ts';

/** Text that is not JSON. The message is worded as Go's `encoding/json` does, which clients see in answers. */
export class JsonSyntaxError extends Error {
  override readonly name: string = 'JsonSyntaxError';
}

/** A number has more digits than a float64 holds: only a decoder that knows the type of its place can tell whether it fits. */
export class JsonNumberError extends JsonSyntaxError {
  override readonly name = 'JsonNumberError';
}

/** An object has more members, or the text more values, than the reader accepts. */
export class JsonWidthError extends JsonSyntaxError {
  override readonly name = 'JsonWidthError';
}

/** A member of an object in which a name repeats. */
export interface RepeatedMember {
  readonly name: string;
  readonly value: Json;
  /** See {@link JsonTextDetails.literals}. */
  readonly literal: string | undefined;
  /** The path of the member if its name occurred before in this object, and it is among the paths that are reported. */
  readonly path: string | undefined;
}

/** What a parsed value does not show of its text; decoders of typed objects need it. */
export interface JsonTextDetails {
  /** Literals of numbers with a fraction or an exponent, or beyond int64, by object or list and by name or index. */
  readonly literals: Map<JsonObject | JsonArray, NumberLiterals>;
  /** All members, in the order of the text, of objects in which a name repeats. */
  readonly repeats: Map<JsonObject, RepeatedMember[]>;
}

/** Beyond a limit: {@link JsonWidthError}. */
export interface JsonLimits {
  /** Of one object; a name that repeats counts each time. */
  readonly maxMembers: number;
  /** All scalars, objects and lists of the text. */
  readonly maxValues: number;
}

const unlimited: JsonLimits = { maxMembers: Infinity, maxValues: Infinity };

export interface JsonReaderOptions {
  readonly maxDepth: number;
  /** Default: none. */
  readonly limits?: JsonLimits | undefined;
  /** Receives the details of the text. With it, a number beyond float64 is 0 with a literal, not an error. */
  readonly details?: JsonTextDetails | undefined;
  /**
   * Called for each member whose name stands in its object already; gives its path (`spec.ports[0].name`), which is made
   * when it is asked for, at once. Returns the path if it is worth keeping.
   */
  readonly onDuplicate?: ((path: () => string) => string | undefined) | undefined;
}

const withinToken = /^in (?:literal|numeric|exponent|string escape|\\u)|^after decimal point/;
const quoteMark = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const maxUint64Digits = 20;
const maxUint64 = 2n ** 64n - 1n;
const minInt64 = -(2n ** 63n);

/** Values that are begun in one step: some milliseconds. */
const valuesPerStep = 5_000;

interface Container {
  readonly value: JsonObject | JsonArray;
  readonly isArray: boolean;
  /** Name of the member being read. */
  key: string;
  /** Members whose name was read. */
  members: number;
}

/**
 * The careful reader: exact integers, well-formed strings, duplicate names, bounded depth and Go's messages, at a
 * multiple of the cost of `JSON.parse`. `parseJson` comes here only when the fast way cannot give the right answer.
 *
 * It keeps its own stack instead of recursing, so that no nesting can exhaust the call stack. Invariant: between two
 * steps `position` stands at the first character that is not consumed, and `stack` holds the containers still open.
 */
export function readJson(text: string, options: JsonReaderOptions): Json {
  return runToCompletion(readJsonIncrementally(text, options));
}

/** {@link readJson} with pauses. */
export function readJsonIncrementally(text: string, options: JsonReaderOptions): Generator<void, Json> {
  return new JsonReader(text, options).read();
}

class JsonReader {
  readonly #text: string;
  readonly #options: JsonReaderOptions;
  readonly #limits: JsonLimits;
  readonly #stack: Container[] = [];
  #position = 0;
  /** The literal of the number that was just read, if details keep it. */
  #literalText: string | undefined;

  constructor(text: string, options: JsonReaderOptions) {
    this.#text = text;
    this.#options = options;
    this.#limits = options.limits ?? unlimited;
  }

  *read(): Generator<void, Json> {
    for (let begun = 1; ; begun++) {
      if (begun % valuesPerStep === 0) yield;
      if (begun > this.#limits.maxValues) throw new JsonWidthError(`more than ${this.#limits.maxValues} values`);
      let value = this.#beginValue();
      if (value === undefined) continue;
      // The value is complete: hand it to its container, and go on closing containers as long as they end here.
      for (;;) {
        const container = this.#stack.at(-1);
        if (container === undefined) {
          if (this.#peek() !== undefined) throw this.#unexpected('after top-level value');
          return value;
        }
        this.#store(container, value);
        if (!this.#endOfElement(container)) break;
        this.#stack.pop();
        value = container.value;
      }
    }
  }

  /** A scalar or an empty container; undefined when a container was opened and its first value comes next. */
  #beginValue(): Json | undefined {
    const char = this.#peek();
    switch (char) {
      case undefined:
        throw this.#unexpected('');
      case '{':
        return this.#open({ value: {}, isArray: false, key: '', members: 0 });
      case '[':
        return this.#open({ value: [], isArray: true, key: '', members: 0 });
      case '"':
        return this.#string();
      case 't':
        return this.#literal('true', true);
      case 'f':
        return this.#literal('false', false);
      case 'n':
        return this.#literal('null', null);
      default:
        if (char === '-' || (char >= '0' && char <= '9')) return this.#number();
        throw this.#unexpected('looking for beginning of value');
    }
  }

  #open(container: Container): Json | undefined {
    if (this.#stack.length >= this.#options.maxDepth) throw new JsonSyntaxError('exceeded max depth');
    this.#position++;
    const next = this.#peek();
    if (next === (container.isArray ? ']' : '}')) {
      this.#position++;
      return container.value;
    }
    this.#stack.push(container);
    if (!container.isArray) this.#key(container);
    return undefined;
  }

  #key(container: Container): void {
    if (++container.members > this.#limits.maxMembers)
      throw new JsonWidthError(`an object has more than ${this.#limits.maxMembers} members`);
    if (this.#peek() !== '"') throw this.#unexpected('looking for beginning of object key string');
    container.key = this.#string();
    if (this.#peek() !== ':') throw this.#unexpected('after object key');
    this.#position++;
  }

  #store(container: Container, value: Json): void {
    const literal = this.#literalText;
    this.#literalText = undefined;
    if (container.isArray) {
      const list = container.value as JsonArray;
      if (literal !== undefined) this.#keepLiteral(list, String(list.length), literal);
      list.push(value);
      return;
    }
    const object = container.value as JsonObject;
    const { onDuplicate, details } = this.#options;
    if (onDuplicate !== undefined || details !== undefined) {
      const isRepeated = Object.hasOwn(object, container.key);
      const path = isRepeated ? onDuplicate?.(() => this.#path()) : undefined;
      if (details !== undefined) keepMember(details, object, { name: container.key, value, literal, path }, isRepeated);
    }
    setOwn(object, container.key, value);
    if (literal !== undefined) this.#keepLiteral(object, container.key, literal);
  }

  #keepLiteral(container: JsonObject | JsonArray, key: string, literal: string): void {
    const literals = this.#options.details?.literals;
    if (literals !== undefined) keepLiteral(literals, container, key, literal);
  }

  /** Consumes what follows an element; true when the container ends. */
  #endOfElement(container: Container): boolean {
    const char = this.#peek();
    if (char === (container.isArray ? ']' : '}')) {
      this.#position++;
      return true;
    }
    if (char !== ',') throw this.#unexpected(container.isArray ? 'after array element' : 'after object key:value pair');
    this.#position++;
    if (!container.isArray) this.#key(container);
    return false;
  }

  /** The path of the member being stored. */
  #path(): string {
    let path = '';
    for (const { isArray, key, value } of this.#stack) {
      if (isArray) path += `[${(value as JsonArray).length}]`;
      else path += path === '' ? key : `.${key}`;
    }
    return path;
  }

  /** The next character that is not white space, not consumed. */
  #peek(): string | undefined {
    const text = this.#text;
    for (;;) {
      const char = text[this.#position];
      if (char !== ' ' && char !== '\n' && char !== '\r' && char !== '\t') return char;
      this.#position++;
    }
  }

  #unexpected(where: string): JsonSyntaxError {
    const code = this.#text.codePointAt(this.#position);
    // At the end Go's scanner reads one space more, which only tokens refuse.
    if (code === undefined)
      return new JsonSyntaxError(
        withinToken.test(where) ? `invalid character ' ' ${where}` : 'unexpected end of JSON input',
      );
    const char = String.fromCodePoint(code);
    const shown = char === "'" ? String.raw`'\''` : char === '"' ? `'"'` : `'${JSON.stringify(char).slice(1, -1)}'`;
    return new JsonSyntaxError(`invalid character ${shown}${where === '' ? '' : ` ${where}`}`);
  }

  #literal<T>(word: string, value: T): T {
    for (let index = 1; index < word.length; index++) {
      this.#position++;
      if (this.#text[this.#position] !== word[index]) {
        throw this.#unexpected(`in literal ${word} (expecting '${word[index]}')`);
      }
    }
    this.#position++;
    return value;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#position;
    let escaped = false;
    for (this.#position++; ; this.#position++) {
      const code = text.charCodeAt(this.#position);
      if (code === quoteMark) break;
      if (code === backslash) {
        escaped = true;
        this.#escape();
      } else if (!(code >= 0x20)) {
        throw this.#unexpected('in string literal');
      }
    }
    this.#position++;
    if (!escaped) return text.slice(start + 1, this.#position - 1);
    return (JSON.parse(text.slice(start, this.#position)) as string).toWellFormed();
  }

  /** Checks one escape; leaves `position` at its last character. */
  #escape(): void {
    this.#position++;
    const char = this.#text[this.#position];
    if (char !== 'u') {
      if (char === undefined || !'"\\/bfnrt'.includes(char)) throw this.#unexpected('in string escape code');
      return;
    }
    for (let digits = 0; digits < 4; digits++) {
      this.#position++;
      const digit = this.#text[this.#position];
      if (digit === undefined || !/[0-9a-fA-F]/.test(digit))
        throw this.#unexpected('in \\u hexadecimal character escape');
    }
  }

  #number(): number | bigint {
    const text = this.#text;
    const start = this.#position;
    if (text.charCodeAt(this.#position) === minus) this.#position++;
    if (text.charCodeAt(this.#position) === zero) this.#position++;
    else this.#digits('in numeric literal');
    let integer = true;
    if (text[this.#position] === '.') {
      integer = false;
      this.#position++;
      this.#digits('after decimal point in numeric literal');
    }
    const exponent = text[this.#position];
    if (exponent === 'e' || exponent === 'E') {
      integer = false;
      this.#position++;
      const sign = text[this.#position];
      if (sign === '+' || sign === '-') this.#position++;
      this.#digits('in exponent of numeric literal');
    }
    const literal = text.slice(start, this.#position);
    const value = Number(literal);
    if (integer && Number.isSafeInteger(value)) return value;
    if (integer && literal.length <= maxUint64Digits + 1) {
      const exact = BigInt(literal);
      if (exact >= minInt64 && exact <= maxUint64) return exact;
    }
    if (this.#options.details !== undefined) {
      this.#literalText = literal;
      return Number.isFinite(value) ? value : 0;
    }
    if (!Number.isFinite(value)) {
      throw new JsonNumberError(`json: cannot unmarshal number ${literal.slice(0, 64)} into Go value of type float64`);
    }
    return value;
  }

  #digits(where: string): void {
    const start = this.#position;
    for (;;) {
      const code = this.#text.charCodeAt(this.#position);
      if (!(code >= zero && code <= nine)) break;
      this.#position++;
    }
    if (this.#position === start) throw this.#unexpected(where);
  }
}

/** From the first repetition on, an object has a list of all its members. */
function keepMember(
  { repeats, literals }: JsonTextDetails,
  object: JsonObject,
  member: RepeatedMember,
  isRepeated: boolean,
): void {
  let members = repeats.get(object);
  if (members === undefined) {
    if (!isRepeated) return;
    const known = literals.get(object);
    members = Object.keys(object).map((name) => ({
      name,
      value: object[name] as Json,
      literal: known?.get(name),
      path: undefined,
    }));
    repeats.set(object, members);
  }
  members.push(member);
}
