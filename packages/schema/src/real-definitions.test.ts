import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  deepCopy,
  FieldPath,
  fieldErrorText,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { compileSchema } from './compile-schema.ts';
import { validateDefinitionSchema } from './definition/validate-definition-schema.ts';
import { SchemaCache } from './schema-cache.ts';

const folder = new URL('../../../e2e/fixtures/crds/', import.meta.url);
const schemas: [string, JsonObject, boolean][] = [];
for (const file of readdirSync(folder)) {
  const { spec } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as {
    spec: { versions: { name: string; schema: { openAPIV3Schema: JsonObject }; subresources?: { status?: object } }[] };
  };
  for (const version of spec.versions) {
    const name = `${file.replace('.data.json', '')} ${version.name}`;
    schemas.push([name, version.schema.openAPIV3Schema, version.subresources?.status !== undefined]);
  }
}

/** A value that fills every place of a schema; what it says is of no interest. */
function fill(schema: JsonObject): Json {
  if (schema['x-kubernetes-int-or-string'] === true) return '1';
  switch (schema['type']) {
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return isJsonObject(schema['items']) ? [fill(schema['items'])] : [];
    case 'string':
      return 'x';
    default: {
      const object: JsonObject = {};
      const properties = schema['properties'];
      if (isJsonObject(properties))
        for (const name of Object.keys(properties)) object[name] = fill(properties[name] as JsonObject);
      if (isJsonObject(schema['additionalProperties'])) object['key'] = fill(schema['additionalProperties']);
      return object;
    }
  }
}

/** Adds a field that no schema knows to every object that is not open; returns how many. */
function strew(value: Json, schema: JsonObject, root = false): number {
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + strew(item, schema['items'] as JsonObject), 0);
  if (!isJsonObject(value)) return 0;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  let added = 0;
  for (const name of Object.keys(value)) {
    if (root && ['metadata', 'kind', 'apiVersion'].includes(name)) continue;
    added += strew(value[name] as Json, (properties[name] ?? schema['additionalProperties']) as JsonObject);
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || schema['additionalProperties'] !== undefined)
    return added;
  value['noSuchField'] = 1;
  return added + 1;
}

describe.each(schemas)('%s', (_name, source, statusSubresource) => {
  test('is accepted, keeps what it knows and nothing else', () => {
    const problems = validateDefinitionSchema(source, { path: FieldPath.of('schema'), statusSubresource });
    expect(problems.map(fieldErrorText)).toEqual([]);
    const schema = compileSchema(source, { origin: 'custom' });
    const full = { ...(fill(source) as JsonObject), metadata: { name: 'x' } };
    const kept = deepCopy(full);
    expect(schema.prune(kept).unknownFields).toEqual([]);
    expect(kept).toEqual(full);
    const strewn = deepCopy(full);
    const added = strew(strewn, source, true);
    const { unknownFields } = schema.prune(strewn);
    expect(unknownFields).toHaveLength(added);
    expect(strewn).toEqual(full);
    schema.applyDefaults(strewn);
    expect(schema.prune(strewn).unknownFields).toEqual([]);
    const errors = schema.validate({}).filter((error) => error.field !== '<nil>');
    for (const error of errors) expect(error.type).toBe('FieldValueRequired');
  });
});

describe('the cache', () => {
  test('shares by content and forgets the oldest', () => {
    const cache = new SchemaCache({ origin: 'custom', maxEntries: 2 });
    const [one, two, three] = schemas.slice(0, 3).map(([, source]) => source) as [JsonObject, JsonObject, JsonObject];
    const first = cache.get(one);
    expect(cache.get(deepCopy(one))).toBe(first);
    cache.get(two);
    cache.get(one);
    cache.get(three);
    expect(cache.size).toBe(2);
    expect(cache.get(one)).toBe(first);
  });
  test('is bounded in bytes', () => {
    const cache = new SchemaCache({ origin: 'custom', maxBytes: 100_000 });
    for (const [, source] of schemas) cache.get(source);
    expect(cache.size).toBeLessThan(schemas.length);
    expect(cache.size).toBeGreaterThan(0);
  });
});
