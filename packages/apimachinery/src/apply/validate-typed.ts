import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { goSyntaxText, goValueText } from '../go/go-value-text.ts';
import { type PathElement, displayElement, displayPath, fieldElement } from './path-element.ts';
import { type ListElements, elementAt } from './list-elements.ts';
import { ListItemError, type TypedScalar, type TypedSchema, formOf } from './typed-schema.ts';

/** An applied configuration that does not fit its schema. */
export class TypedValueError extends Error {
  override readonly name = 'TypedValueError';
}

/**
 * Checks an applied configuration against its schema: types, fields that the schema does not have, items that
 * have no unique keys. Throws {@link TypedValueError} with all that is wrong.
 */
export function validateTyped(value: JsonObject, schema: TypedSchema, elements?: ListElements): void {
  const problem = problemOf(new Validator({ elements, allowsDuplicates: false }), value, schema);
  if (problem !== undefined) throw new TypedValueError(problem);
}

/**
 * What of a stored object does not fit its schema, as {@link validateTyped} reports it; undefined: nothing. Lists may have
 * items with the same key.
 */
export function typedProblem(value: JsonObject, schema: TypedSchema): string | undefined {
  return problemOf(new Validator({ elements: undefined, allowsDuplicates: true }), value, schema);
}

function problemOf(walker: Validator, value: JsonObject, schema: TypedSchema): string | undefined {
  walker.visit(value, schema);
  const { errors } = walker;
  return errors.length > 1 ? ['errors:', ...errors.map((text) => `  ${text}`)].join('\n') : errors[0];
}

/** Limit of reported errors: a body may hold a hundred thousand. */
const maxErrors = 100;
/** Characters of values in all errors together. */
const maxValueText = 64 * 1024;

class Validator {
  readonly errors: string[] = [];
  #valueTextLeft = maxValueText;
  readonly #path: PathElement[] = [];
  readonly #elements: ListElements | undefined;
  readonly #allowsDuplicates: boolean;

  constructor(options: { readonly elements: ListElements | undefined; readonly allowsDuplicates: boolean }) {
    this.#elements = options.elements;
    this.#allowsDuplicates = options.allowsDuplicates;
  }

  visit(value: Json, schema: TypedSchema): void {
    const form = formOf(schema, value);
    if (form === 'map') this.#map(value, schema);
    else if (form === 'list') this.#list(value, schema);
    else this.#leaf(form, value, schema);
  }

  #leaf(form: 'scalar' | 'none', value: Json, schema: TypedSchema): void {
    const error =
      form === 'none' ? 'schema error: invalid atom: inlined' : this.#scalarError(schema.scalar as TypedScalar, value);
    if (error !== undefined) this.#report(error);
  }

  #map(value: Json, schema: TypedSchema): void {
    const { map } = schema;
    if (value === null || map === undefined) return;
    if (!isJsonObject(value)) return this.#report(`expected map, got &{${this.#shown(value)}}`);
    for (const name of Object.keys(value)) {
      if (this.errors.length >= maxErrors) return;
      const field = map.fields.get(name) ?? map.element;
      this.#path.push(fieldElement(name));
      if (field === undefined) {
        this.#report('field not declared in schema');
        this.#path.pop();
        return;
      }
      this.visit(value[name] as Json, field);
      this.#path.pop();
    }
  }

  #list(value: Json, schema: TypedSchema): void {
    const { list } = schema;
    if (value === null || list === undefined) return;
    if (!Array.isArray(value)) return this.#report(`expected list, got &{${this.#shown(value)}}`);
    const seen = list.atomic ? undefined : new Set<PathElement>();
    const known = list.atomic ? undefined : this.#elements?.of(list, value);
    for (let index = 0; index < value.length && this.errors.length < maxErrors; index++) {
      const item = value[index] as Json;
      let element: PathElement;
      if (seen === undefined) {
        element = `i:${index}`;
      } else {
        try {
          element = elementAt(list, value, index, known);
        } catch (error) {
          if (!(error instanceof ListItemError)) throw error;
          return this.#report(`element ${index}: ${error.message}`);
        }
        if (!this.#allowsDuplicates && seen.has(element))
          this.#report(`duplicate entries for key ${displayElement(element)}`);
        seen.add(element);
      }
      this.#path.push(element);
      this.visit(item, list.element);
      this.#path.pop();
    }
  }

  #scalarError(type: TypedScalar, value: Json): string | undefined {
    if (value === null) return undefined;
    switch (type) {
      case 'numeric':
        return typeof value === 'number' || typeof value === 'bigint'
          ? undefined
          : `expected numeric (int or float), got ${goType(value)}`;
      case 'string':
        return typeof value === 'string'
          ? undefined
          : `expected string, got &value.valueUnstructured{Value:${this.#shown(value, goSyntaxText)}}`;
      case 'boolean':
        return typeof value === 'boolean' ? undefined : `expected boolean, got &{${this.#shown(value)}}`;
      case 'untyped':
        return typeof value === 'object' ? `expected any scalar, got &{${this.#shown(value)}}` : undefined;
    }
  }

  /** The value in the text of an error. */
  #shown(value: Json, textOf = goValueText): string {
    const text = textOf(value, this.#valueTextLeft);
    this.#valueTextLeft -= text.length;
    return text;
  }

  #report(text: string): void {
    const path = displayPath(this.#path);
    this.errors.push(path === '' ? text : `${path}: ${text}`);
  }
}

function goType(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isJsonObject(value)) return 'map[string]interface {}';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
