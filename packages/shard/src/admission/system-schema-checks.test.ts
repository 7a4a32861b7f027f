import { expect, test } from '@jest/globals';
import type { FieldError, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiResourceSchemaErrors,
  crdSpecErrors,
  definitionOfSchema,
  rootExports,
  type SlowChecks,
} from '@multiplane/apis';
import { isSystemSchema, SystemSchemaChecks } from './system-schema-checks.ts';

const root = 'root' as LogicalClusterName;
const own = rootExports().flatMap(({ schemas }) => schemas);
const delegated: FieldError[] = [];

/** Counts the calls of the wrapped checks. */
async function errorsOf(object: KubeObject): Promise<FieldError[] | 'asked'> {
  const slowly: SlowChecks = {
    definition: () => Promise.resolve(delegated),
    compiling: (check) =>
      check(
        () => false,
        () => false,
      ),
    object: () => Promise.reject(new Error('no object is checked here')),
  };
  const errors = await new SystemSchemaChecks({ slowly }).definition(root, object, undefined);
  return errors === delegated ? 'asked' : errors;
}

/** The stored form: with defaults and without empty lists. */
function stored(object: KubeObject, spec: JsonObject): KubeObject {
  const text = JSON.stringify({ ...object, spec: { ...(object['spec'] as JsonObject), ...spec } });
  return JSON.parse(text, (_key, value: unknown) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  ) as KubeObject;
}

test('skips the checks of system schemas and their CRDs', async () => {
  for (const schema of own) {
    expect(apiResourceSchemaErrors(schema, undefined)).toEqual([]);
    expect(await errorsOf({ ...schema, spec: { ...schema.spec, nameValidation: 'DNS1123Subdomain' } })).toEqual([]);
    const definition = stored(definitionOfSchema(schema), { conversion: { strategy: 'None' } });
    expect(crdSpecErrors(definition, undefined)).toEqual([]);
    expect(await errorsOf(definition)).toEqual([]);
  }
});

test('checks a schema that differs', async () => {
  for (const schema of own) {
    expect(isSystemSchema(schema)).toBe(true);
    expect(isSystemSchema({ ...schema, spec: { ...schema.spec, scope: 'Namespaced' } })).toBe(false);
    expect(await errorsOf({ ...schema, spec: { ...schema.spec, scope: 'Namespaced' } })).toBe('asked');
    const definition = definitionOfSchema(schema);
    const [version] = (definition['spec'] as JsonObject)['versions'] as JsonObject[];
    for (const change of [{ name: 'v9' }, { schema: {} }, { subresources: { scale: {} } }])
      expect(await errorsOf(stored(definition, { versions: [{ ...version, ...change }] }))).toBe('asked');
  }
  expect(await errorsOf({ apiVersion: 'v1', kind: '__proto__', metadata: { name: 'x' }, spec: {} })).toBe('asked');
  expect(isSystemSchema({ apiVersion: 'v1', kind: 'APIResourceSchema', metadata: { name: 'x' } })).toBe(false);
});

test('checks the fields around a system schema', async () => {
  const [schema] = own;
  expect(await errorsOf({ ...schema, metadata: { name: 'wrong' } } as KubeObject)).toMatchObject([
    { field: 'metadata.name' },
  ]);
  expect(await errorsOf(stored(definitionOfSchema(schema as never), { scope: 'Elsewhere' }))).toMatchObject([
    { field: 'spec.scope' },
  ]);
});
