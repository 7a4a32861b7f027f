import { deepEqual, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { docComment } from './doc-comment.ts';
import type { TypeNames } from './type-names.ts';

/** How the metadata of objects is typed, also of those that are embedded in a field. */
const metadataType = 'KubeObject["metadata"]';

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

interface Member {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly doc?: string | undefined;
}

/**
 * Types of structural schemas: an object with fields becomes a type of its own, named after the path to it, everything else an
 * expression. What the server drops (fields that no schema has) and what it checks beyond JSON's types is not in them.
 */
export class SchemaTypes {
  readonly #names: TypeNames;
  /** Declared so far; those within a type precede it. */
  readonly declarations: string[] = [];

  constructor(names: TypeNames) {
    this.#names = names;
  }

  /**
   * Declares the type of a kind.
   *
   * @param name - taken before
   * @param doc - paragraphs in front of it
   */
  declareKind(
    schema: JsonObject,
    { name, apiVersion, kind, doc }: { name: string; apiVersion: string; kind: string; doc: (string | undefined)[] },
  ): void {
    const own: Member[] = [
      { name: 'apiVersion', type: JSON.stringify(apiVersion), isRequired: true },
      { name: 'kind', type: JSON.stringify(kind), isRequired: true },
      { name: 'metadata', type: metadataType, isRequired: true },
    ];
    this.#declare(name, [...own, ...this.#members(schema, name, own)], { index: indexOf(schema), doc });
  }

  /** The type of the values of a schema. `path`: the words of the name that it gets if it has to be declared. */
  typeOf(schema: JsonObject, path: string): string {
    const type = this.#withoutNull(schema, path);
    return schema['nullable'] === true && type !== 'unknown' && !/(?:^|\| )null$/.test(type) ? `${type} | null` : type;
  }

  #withoutNull(schema: JsonObject, path: string): string {
    const values = enumOf(schema);
    if (values !== undefined) return values.length === 0 ? 'never' : union(values.map(literal));
    if (schema['x-kubernetes-int-or-string'] === true || schema['format'] === 'int-or-string') return 'number | string';
    const type = typeof schema['type'] === 'string' ? schema['type'] : '';
    if (Object.hasOwn(plainTypes, type)) return plainTypes[type] as string;
    if (type === 'array') {
      const { items } = schema;
      const item = items !== undefined && isJsonObject(items) ? this.typeOf(items, `${path}-item`) : 'unknown';
      return item.includes(' | ') && !item.endsWith(')[]') ? `(${item})[]` : `${item}[]`;
    }
    const isObject =
      type === 'object' ||
      propertiesOf(schema).length > 0 ||
      schema['additionalProperties'] !== undefined ||
      schema['x-kubernetes-embedded-resource'] === true;
    return isObject ? this.#objectType(schema, path) : 'unknown';
  }

  #objectType(schema: JsonObject, path: string): string {
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    const fields = Object.fromEntries(propertiesOf(schema));
    const textOr = (field: string): string =>
      fields[field] === undefined ? 'string' : this.typeOf(fields[field], path);
    const own: Member[] = isEmbedded
      ? [
          { name: 'apiVersion', type: textOr('apiVersion'), isRequired: true },
          { name: 'kind', type: textOr('kind'), isRequired: true },
          { name: 'metadata', type: metadataType, isRequired: true },
        ]
      : [];
    if (own.length === 0 && propertiesOf(schema).length === 0) {
      const { additionalProperties: values } = schema;
      const type = values !== undefined && isJsonObject(values) ? this.typeOf(values, `${path}-value`) : undefined;
      // The server drops all fields of an object without a schema for any.
      return `{ [key: string]: ${type ?? (indexOf(schema) ? 'unknown' : 'never')} }`;
    }
    const name = this.#names.take(path);
    this.#declare(name, [...own, ...this.#members(schema, name, own)], { index: indexOf(schema), doc: [text(schema)] });
    return name;
  }

  #members(schema: JsonObject, path: string, own: readonly Member[]): Member[] {
    const required = requiredOf(schema);
    return propertiesOf(schema)
      .filter(([name]) => !own.some((member) => member.name === name))
      .map(([name, property]) => ({
        name,
        type: this.typeOf(property, `${path}-${name}`),
        isRequired: required.has(name),
        doc: docComment(
          [
            text(property)?.replace(/^deprecated:/i, '@deprecated'),
            property['default'] === undefined ? undefined : `@default ${JSON.stringify(property['default'])}`,
          ],
          '  ',
        ),
      }));
  }

  #declare(
    name: string,
    members: readonly Member[],
    { index, doc }: { readonly index: boolean; readonly doc: readonly (string | undefined)[] },
  ): void {
    const lines = members.map(
      (member) => `${member.doc ?? ''}  ${propertyName(member.name)}${member.isRequired ? '' : '?'}: ${member.type};\n`,
    );
    // Of `unknown`, since the values of the named fields have to be among those of the index.
    if (index) lines.push('  [field: string]: unknown;\n');
    this.declarations.push(`${docComment(doc)}export type ${name} = {\n${lines.join('')}};\n`);
  }
}

/** Whether fields beyond the named ones are kept. */
const indexOf = (schema: JsonObject): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true ||
  (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false);

const text = ({ description }: JsonObject): string | undefined =>
  typeof description === 'string' ? description : undefined;

/** An identifier, or a string: TypeScript accepts every name in this form, also a reserved word. */
const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

const union = (types: readonly string[]): string => [...new Set(types)].sort(nullLast).join(' | ');
const nullLast = (a: string, b: string): number => Number(a === 'null') - Number(b === 'null');

const objectsOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

function propertiesOf({ properties }: JsonObject): [string, JsonObject][] {
  if (properties === undefined || !isJsonObject(properties)) return [];
  return Object.entries(properties).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
}

/** Fields that are always there: those of `required`, and of what the object has to match besides. */
function requiredOf(schema: JsonObject): Set<string> {
  const { required } = schema;
  const own = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return new Set([...own, ...objectsOf(schema['allOf']).flatMap((part) => [...requiredOf(part)])]);
}

/**
 * The values that `enum` leaves: those in all of the schema's own and of `allOf`, and in one of `anyOf` or `oneOf` if each
 * branch lists some. Undefined when values are not listed.
 */
function enumOf(schema: JsonObject): Json[] | undefined {
  const lists = [Array.isArray(schema['enum']) ? schema['enum'] : undefined];
  lists.push(...objectsOf(schema['allOf']).map(enumOf));
  for (const branches of [objectsOf(schema['anyOf']), objectsOf(schema['oneOf'])]) {
    const values = branches.map(enumOf);
    lists.push(values.length > 0 && values.every((list) => list !== undefined) ? values.flat() : undefined);
  }
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first?.filter((value) => others.every((list) => list.some((other) => deepEqual(other, value))));
}

/** The type of one JSON value. */
function literal(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${propertyName(name)}: ${literal(field)}`);
  return fields.length === 0 ? '{ [key: string]: never }' : `{ ${fields.join('; ')} }`;
}
