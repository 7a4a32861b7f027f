import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, FieldPath, type JsonObject } from '@multiplane/apimachinery';
import { validateDefinitionRules } from '../cel/definition-rules.ts';
import { internalSchema } from './internal-schema.ts';
import { validateDefinitionSchema } from './validate-definition-schema.ts';

const errorsOf = (properties: JsonObject, more: JsonObject = {}, statusSubresource = false): string[] =>
  validateDefinitionSchema(
    { type: 'object', properties, ...more },
    { path: FieldPath.of('s'), statusSubresource, validateRules: validateDefinitionRules },
  ).map(fieldErrorText);
const failing = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self' }] };

describe('what is said of the schema of a definition', () => {
  test('a schema with a keyword that is not supported is not looked at as a structural one', () => {
    const untyped = { description: 'no type' };
    expect(errorsOf({ a: { type: 'string', $ref: '#/a' }, b: untyped })).toEqual([
      's.properties[a].$ref: Forbidden: $ref is not supported',
    ]);
    expect(errorsOf({ b: untyped }, { $schema: 'https://example.com' })).toEqual([
      `s: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`,
    ]);
  });

  test('rules are judged where nothing else is wrong, after all other errors', () => {
    const repeating = { type: 'array', items: { type: 'string' }, uniqueItems: true };
    const [first, second, ...more] = errorsOf({ a: failing, b: repeating });
    expect(first).toMatch(/^s\.properties\[b\]\.uniqueItems: Forbidden/);
    expect(second).toMatch(/^s\.properties\[a\]\.x-kubernetes-validations\[0\]\.rule: Invalid value/);
    expect(more).toEqual([]);
    const broken = { type: 'object', properties: { b: repeating }, 'x-kubernetes-validations': [{ rule: '1' }] };
    expect(errorsOf({ a: broken })).toEqual([expect.stringContaining('uniqueItems: Forbidden')]);
  });

  test('rules are not judged in a schema that is not structural', () => {
    expect(errorsOf({ a: failing, b: { type: 'array' } })).toEqual([
      's.properties[b].items: Required value: must be specified',
    ]);
  });

  test('the schema is quoted as Kubernetes has it inside', () => {
    const [error] = errorsOf({ status: { type: 'object' } }, { minProperties: 1, enum: [{ a: '<' }] }, true);
    const properties = internalSchema({ type: 'object' });
    const whole = {
      ...internalSchema({}),
      Type: 'object',
      Enum: [{ a: '<' }],
      MinProperties: 1,
      Properties: { status: properties },
    };
    expect(error).toContain(`s: Invalid value: ${JSON.stringify(whole).replace('<', '\\u003c')}: only [Description`);
    expect(Object.keys(whole).slice(0, 4)).toEqual(['ID', 'Schema', 'Ref', 'Description']);
  });

  test('a schema too great for a message is left out of it', () => {
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`f${index}`, { type: 'string' }]));
    const [error] = errorsOf(many, { minProperties: 1 }, true);
    expect(error).toMatch(/^s: Invalid value: only \[Description/);
  });

  test('false is no schema for additional properties, and documents elsewhere say nothing of structure', () => {
    const rules = { not: { additionalProperties: false, externalDocs: { url: 'https://example.com' } } };
    expect(errorsOf({ a: { type: 'object', ...rules } })).toEqual([]);
  });

  test('defaults inside the metadata of an embedded resource must make it valid', () => {
    const embedded = (metadata: JsonObject): JsonObject => ({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { metadata: { type: 'object', properties: metadata } },
    });
    expect(errorsOf({ a: embedded({ name: { type: 'string', default: 'fine' } }) })).toEqual([]);
    expect(errorsOf({ a: embedded({ name: { type: 'string', default: 'a/b' } }) })).toEqual([
      `s.properties[a].properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ]);
    expect(errorsOf({ a: embedded({ name: { type: 'integer', default: 1 } }) })).toEqual([
      's.properties[a].properties[metadata].properties[name].default: Invalid value: 1: must result in valid metadata: metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
    ]);
  });

  test('a default with an embedded resource keeps of its metadata what ObjectMeta has', () => {
    const metadata = { name: 'fine', extra: 1, labels: {} };
    const a: JsonObject = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      default: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { extra: 1 } },
    };
    expect(errorsOf({ a })).toEqual([]);
    expect(a['default']).toEqual({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fine' }, spec: { extra: 1 } });
  });
});
