import { describe, expect, test } from '@jest/globals';
import { type JsonObject, type TypedSchema, deducedSchema, untypedAtomicSchema } from '@multiplane/apimachinery';
import { compileSchema } from './compile-schema.ts';
import { TypedSchemaCompiler, objectMetaTyped } from './typed-schema-compiler.ts';

const custom = (properties: JsonObject, more: JsonObject = {}): TypedSchema =>
  new TypedSchemaCompiler({ origin: 'custom' }).compile({ type: 'object', properties, ...more });
const field = (schema: TypedSchema, ...names: readonly string[]): TypedSchema | undefined =>
  names.reduce<TypedSchema | undefined>(
    (at, name) => at?.map?.fields.get(name) ?? at?.list?.element.map?.fields.get(name),
    schema,
  );

describe('a custom resource', () => {
  const schema = custom({
    spec: {
      type: 'object',
      properties: {
        n: { type: 'integer' },
        when: { type: 'string', format: 'date-time' },
        port: { 'x-kubernetes-int-or-string': true },
        plain: { type: 'array', items: { type: 'string' } },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        rows: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'id'],
          items: { type: 'object', properties: { id: { type: 'integer', default: 1 }, name: { type: 'string' } } },
        },
        atom: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
        free: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { a: { type: 'object', properties: { b: { type: 'string' } } } },
        },
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
  });
  const spec = (...names: readonly string[]): TypedSchema | undefined => field(schema, 'spec', ...names);

  test('has the metadata of every object whatever its author wrote', () => {
    expect(field(schema, 'metadata')).toBe(objectMetaTyped());
    expect(field(schema, 'metadata', 'ownerReferences')?.list).toMatchObject({
      atomic: false,
      keys: ['uid'],
      element: { map: { atomic: true } },
    });
    expect(field(schema, 'metadata', 'finalizers')?.list).toMatchObject({ atomic: false, keys: [] });
    expect(spec('template', 'metadata')).toBe(objectMetaTyped());
  });

  test('has scalars by type, and takes any text for what is written as one', () => {
    expect(spec('n')?.scalar).toBe('numeric');
    expect(spec('when')?.scalar).toBe('untyped');
    expect(spec('port')?.scalar).toBe('untyped');
  });

  test('has atomic lists, sets and maps by sorted keys with their defaults', () => {
    expect(spec('plain')?.list?.atomic).toBe(true);
    expect(spec('tags')?.list).toMatchObject({ atomic: false, keys: [] });
    expect(spec('rows')?.list).toMatchObject({ atomic: false, keys: ['id', 'name'] });
    expect(spec('rows', 'id')?.default).toBe(1);
    expect(spec('atom')?.map?.atomic).toBe(true);
  });

  test('deduces what is preserved without a schema, also below', () => {
    expect(spec('free')?.map?.element).toBe(deducedSchema);
    expect(spec('free', 'a')?.map?.element).toBe(deducedSchema);
    expect(spec()?.map?.element).toBeUndefined();
    expect(custom({}, { 'x-kubernetes-preserve-unknown-fields': true }).map?.element).toBe(deducedSchema);
  });
});

describe('a definition behind a reference', () => {
  const definitions: Readonly<Record<string, JsonObject>> = {
    '#/Tree': {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#/Tree' } }, any: {} },
    },
    '#/Selector': { type: 'object', properties: { a: { type: 'string' } } },
  };
  const compiler = new TypedSchemaCompiler({ origin: 'built-in', resolve: (reference) => definitions[reference] });

  test('may be itself', () => {
    const tree = compiler.compile({ $ref: '#/Tree' });
    expect(tree.map?.fields.get('children')?.list?.element).toBe(tree);
    expect(field(tree, 'any')?.list?.element).toBe(untypedAtomicSchema);
  });

  test('keeps what is beside `$ref`', () => {
    const root = compiler.compile({
      type: 'object',
      properties: {
        whole: { allOf: [{ $ref: '#/Selector' }], 'x-kubernetes-map-type': 'atomic', default: { a: 'x' } },
        parts: { $ref: '#/Selector' },
      },
    });
    expect(field(root, 'whole')).toMatchObject({ default: { a: 'x' }, map: { atomic: true } });
    expect(field(root, 'parts')?.map?.atomic).toBe(false);
  });

  test('must be there', () => {
    expect(() => compiler.compile({ $ref: '#/None' })).toThrow('schema refers to #/None, which does not exist');
  });
});

test('a compiled schema makes its typed form once', () => {
  const schema = compileSchema({ type: 'object', properties: { spec: { type: 'object' } } }, { origin: 'custom' });
  expect(schema.typed).toBe(schema.typed);
  expect(schema.emptyObject()).toEqual({});
});

test('nulls that no default replaces may be left to validation', () => {
  const schema = compileSchema(
    { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string', default: 'x' } } },
    { origin: 'custom' },
  );
  const [kept, dropped]: JsonObject[] = [
    { a: null, b: null },
    { a: null, b: null },
  ];
  schema.applyDefaults(kept as JsonObject, { keepNulls: true });
  schema.applyDefaults(dropped as JsonObject);
  expect(kept).toEqual({ a: null, b: 'x' });
  expect(dropped).toEqual({ b: 'x' });
});
