import { expect, test } from '@jest/globals';
import { isJsonObject, type JsonObject } from '@multiplane/apimachinery';
import { workspaceUsages } from '../limits/workspace-usage.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { describedSchema } from './described-schema.ts';
import { kindDescriptions } from './kind-descriptions.data.ts';
import { kcpResources } from './kcp-resources.ts';
import { rootExports } from './root-exports.ts';

const served: readonly ResourceDefinition[] = [...kcpResources(), workspaceUsages(() => ({ used: {}, limits: [] }))];

/** The fields of a schema with their path, as `kubectl explain` names them. */
function* fieldsOf(schema: JsonObject, path = ''): Generator<readonly [path: string, field: JsonObject]> {
  yield [path, schema];
  for (const inner of [schema['items'], schema['additionalProperties']]) {
    if (!isJsonObject(inner ?? null)) continue;
    for (const each of fieldsOf(inner as JsonObject, path)) if (each[0] !== path) yield each;
  }
  for (const [name, field] of Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>))
    yield* fieldsOf(field, path === '' ? name : `${path}.${name}`);
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.length > 1;

test('every field of every kind has a description', () => {
  const missing = served.flatMap(({ kind, version, schema }) =>
    [...fieldsOf(schema.source)]
      .filter(([, field]) => !isText(field['description']))
      .map(([path]) => `${kind} ${version} ${path}`),
  );
  expect(missing).toEqual([]);
  expect(served.length).toBeGreaterThan(15);
});

test('every description is of a kind and a field that exist', () => {
  const known = new Set(
    served.flatMap(({ kind, schema }) => [...fieldsOf(schema.source)].map(([path]) => `${kind} ${path}`)),
  );
  const described = Object.entries(kindDescriptions).flatMap(([kind, texts]) =>
    Object.keys(texts).map((path) => `${kind} ${path}`),
  );
  expect(described.filter((each) => !known.has(each))).toEqual([]);
});

test('the schemas that root stores do not depend on the descriptions', () => {
  const binding = rootExports()
    .flatMap(({ schemas }) => schemas)
    .find(({ spec }) => spec?.names.kind === 'Partition');
  expect(JSON.stringify(binding)).toContain('"selector"');
  expect(JSON.stringify(binding)).not.toContain('description');
});

test('a field named description is described, and values of maps are part of the path', () => {
  const text = { type: 'string' };
  const schema = {
    type: 'object',
    properties: {
      description: text,
      conditions: { type: 'array', items: { type: 'object', properties: { reason: text, status: text } } },
      byName: { type: 'object', additionalProperties: { type: 'object', properties: { matchLabels: text } } },
    },
  };
  const described = describedSchema('Unknown', schema);
  const found = Object.fromEntries(
    [...fieldsOf(described)].map(([path, field]) => [path, isText(field['description'])]),
  );
  expect(found).toEqual({
    '': false,
    description: false,
    conditions: true,
    'conditions.reason': true,
    'conditions.status': true,
    byName: false,
    'byName.matchLabels': true,
  });
  expect(describedSchema('constructor', schema)).toEqual(described);
});
