import { goFloat } from '../go/go-float.ts';
import { quote } from '../go/go-quote.ts';
import { encodeJson } from '../json/json-encoder.ts';

export { quote } from '../go/go-quote.ts';

/** The kinds of field errors and the text each begins with (apimachinery `field.ErrorType`). */
export const fieldErrorTexts = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTooShort: 'Too short',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
} as const;
export type FieldErrorType = keyof typeof fieldErrorTexts;

/** Stands for a value that messages leave out: objects and lists that a rule refused. */
export const omittedValue: unique symbol = Symbol('omitted value');

const withoutValue = new Set<FieldErrorType>([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
]);

/** One failed check of one field. `field` is the dotted path; the root is `<nil>`. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  /** The offending value. Texts of types that print no value leave it out. */
  readonly value?: unknown;
  readonly detail: string;
}

/**
 * A place in an object: `fieldPath('spec').child('ports').index(0).key('x')` prints `spec.ports[0][x]`. Immutable. Its text
 * is rendered lazily: every check has a path, and few of them fail.
 */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  /** Names of members, or what stands in brackets. */
  readonly #step: readonly string[] | string | number;
  private constructor(parent: FieldPath | undefined, step: readonly string[] | string | number) {
    this.#parent = parent;
    this.#step = step;
  }
  static root(): FieldPath {
    return new FieldPath(undefined, []);
  }
  static of(...names: string[]): FieldPath {
    return new FieldPath(undefined, names);
  }
  child(...names: string[]): FieldPath {
    return new FieldPath(this, names);
  }
  index(index: number): FieldPath {
    return new FieldPath(this, index);
  }
  key(key: string): FieldPath {
    return new FieldPath(this, key);
  }
  toString(): string {
    const text = this.#text();
    return text === '' ? '<nil>' : text;
  }

  #text(): string {
    const before = this.#parent === undefined ? '' : this.#parent.#text();
    const step = this.#step;
    if (typeof step !== 'object') return `${before}[${step}]`;
    const names = step.join('.');
    return before === '' ? names : `${before}.${names}`;
  }
}

type Where = FieldPath | string;
const make = (type: FieldErrorType, where: Where, detail: string, value?: unknown): FieldError => ({
  type,
  field: String(where),
  detail,
  ...(value === undefined ? {} : { value }),
});

/** Constructors, named and worded as upstream's `field` package. */
export const fieldErrors = {
  notFound: (where: Where, value: unknown): FieldError => make('FieldValueNotFound', where, '', value),
  required: (where: Where, detail = ''): FieldError => make('FieldValueRequired', where, detail),
  duplicate: (where: Where, value: unknown): FieldError => make('FieldValueDuplicate', where, '', value),
  invalid: (where: Where, value: unknown, detail: string): FieldError =>
    make('FieldValueInvalid', where, detail, value),
  typeInvalid: (where: Where, value: unknown, detail: string): FieldError =>
    make('FieldValueTypeInvalid', where, detail, value),
  /** `supported values: "a", "b"` in the order given. */
  notSupported: (where: Where, value: unknown, supported: readonly string[]): FieldError =>
    make(
      'FieldValueNotSupported',
      where,
      supported.length === 0 ? '' : `supported values: ${supported.map((s) => quote(s)).join(', ')}`,
      value,
    ),
  forbidden: (where: Where, detail: string): FieldError => make('FieldValueForbidden', where, detail),
  /** Singular for one byte, no detail for a limit below zero. */
  tooLong: (where: Where, max: number): FieldError =>
    make(
      'FieldValueTooLong',
      where,
      max < 0 ? 'value is too long' : `may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`,
    ),
  tooMany: (where: Where, actual: number, max: number): FieldError =>
    make(
      'FieldValueTooMany',
      where,
      max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
      actual,
    ),
  internal: (where: Where, cause: unknown): FieldError =>
    make('InternalError', where, cause instanceof Error ? cause.message : String(cause)),
};

/** Go's encoder spells out what could end a script in a page. */
const goJson = (text: string): string =>
  text.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function valueText(value: unknown): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return Number.isSafeInteger(value) ? String(value) : goFloat(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    default:
      return goJson(encodeJson(value));
  }
}

/** The text without the path, as it stands in `details.causes[].message`. */
export function fieldErrorBody(error: FieldError): string {
  const head = fieldErrorTexts[error.type];
  const value =
    withoutValue.has(error.type) || error.value === omittedValue ? '' : `: ${valueText(error.value ?? null)}`;
  return `${head}${value}${error.detail === '' ? '' : `: ${error.detail}`}`;
}

/** The whole text: `spec.x: Invalid value: "a": must be b`. */
export function fieldErrorText(error: FieldError): string {
  return `${error.field}: ${fieldErrorBody(error)}`;
}

/** Adds errors to others. `push(...more)` would exhaust the stack where a hostile object has some 100,000 of them. */
export function appendErrors(errors: FieldError[], more: readonly FieldError[]): void {
  for (const error of more) errors.push(error);
}
