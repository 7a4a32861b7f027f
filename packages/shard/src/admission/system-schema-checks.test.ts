import { expect, test } from '@jest/globals';
import type { FieldError, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiResourceSchemaErrors,
  crdSpecErrors,
  definitionOfSchema,
  rootExports,
  type SlowChecks,
} from '@multiplane/apis';
import { isOwnSchema, OwnSchemas } from './own-schemas.ts';

const root = 'root' as LogicalClusterName;
const own = rootExports().flatMap(({ schemas }) => schemas);
const elsewhere: FieldError[] = [];

/** Answers at once, or tells that others were asked. */
async function errorsOf(object: KubeObject): Promise<FieldError[] | 'asked'> {
  const slowly: SlowChecks = {
    definition: () => Promise.resolve(elsewhere),
    compiling: (check) => check(() => false),
    object: () => Promise.reject(new Error('no object is checked here')),
  };
  const errors = await new OwnSchemas({ slowly }).definition(root, object, undefined);
  return errors === elsewhere ? 'asked' : errors;
}

/** As the API stores it: fields that are left open are filled in, empty lists are none. */
function stored(object: KubeObject, spec: JsonObject): KubeObject {
  const text = JSON.stringify({ ...object, spec: { ...(object['spec'] as JsonObject), ...spec } });
  return JSON.parse(text, (_key, value: unknown) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  ) as KubeObject;
}

test('own schemas and their definitions are right, and no thread is asked about them', async () => {
  for (const schema of own) {
    expect(apiResourceSchemaErrors(schema, undefined)).toEqual([]);
    expect(await errorsOf({ ...schema, spec: { ...schema.spec, nameValidation: 'DNS1123Subdomain' } })).toEqual([]);
    const definition = stored(definitionOfSchema(schema), { conversion: { strategy: 'None' } });
    expect(crdSpecErrors(definition, undefined)).toEqual([]);
    expect(await errorsOf(definition)).toEqual([]);
  }
});

test('what differs in a schema is checked as any other', async () => {
  for (const schema of own) {
    expect(isOwnSchema(schema)).toBe(true);
    expect(isOwnSchema({ ...schema, spec: { ...schema.spec, scope: 'Namespaced' } })).toBe(false);
    expect(await errorsOf({ ...schema, spec: { ...schema.spec, scope: 'Namespaced' } })).toBe('asked');
    const definition = definitionOfSchema(schema);
    const [version] = (definition['spec'] as JsonObject)['versions'] as JsonObject[];
    for (const change of [{ name: 'v9' }, { schema: {} }, { subresources: { scale: {} } }])
      expect(await errorsOf(stored(definition, { versions: [{ ...version, ...change }] }))).toBe('asked');
  }
  expect(await errorsOf({ apiVersion: 'v1', kind: '__proto__', metadata: { name: 'x' }, spec: {} })).toBe('asked');
});

test('what an own schema stands in is checked', async () => {
  const [schema] = own;
  expect(await errorsOf({ ...schema, metadata: { name: 'wrong' } } as KubeObject)).toMatchObject([
    { field: 'metadata.name' },
  ]);
  expect(await errorsOf(stored(definitionOfSchema(schema as never), { scope: 'Elsewhere' }))).toMatchObject([
    { field: 'spec.scope' },
  ]);
});
