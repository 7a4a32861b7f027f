import { expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { compileSchema } from './compile-schema.ts';

const schema = compileSchema(
  {
    type: 'object',
    properties: {
      one: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      many: {
        type: 'object',
        additionalProperties: {
          type: 'array',
          items: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
      },
    },
  },
  { origin: 'custom' },
);

test('metadata that is null becomes empty', () => {
  const object = { one: { metadata: null } };
  expect(schema.coerce(object)).toBeUndefined();
  expect(object).toEqual({ one: { metadata: {} } });
});

test.each<[string, JsonObject, string | undefined]>([
  ['nothing embedded', {}, undefined],
  ['a missing kind is left to validation', { one: { apiVersion: 'v1' } }, undefined],
  ['a kind that is no text', { one: { kind: 1 } }, 'one.kind: Invalid value: 1: must be a string'],
  [
    'an item of a list of a map',
    { many: { k: [{}, { apiVersion: null }] } },
    'many[k][1].apiVersion: Invalid value: null: must be a string',
  ],
  [
    'metadata that is no object',
    { one: { metadata: 'x' } },
    'one.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
  ],
  [
    'a member of metadata',
    { one: { metadata: { labels: { a: 1 } } } },
    'one.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  ],
  [
    'a member of an owner reference',
    { one: { metadata: { ownerReferences: [{ name: true }] } } },
    'one.metadata: Invalid value: {"ownerReferences":[{"name":true}]}: json: cannot unmarshal bool into Go struct field OwnerReference.ownerReferences.name of type string',
  ],
])('%s', (_name, object, problem) => {
  expect(schema.coerce(object)).toBe(problem);
});

test('metadata gets its canonical form', () => {
  const object: JsonObject = {
    one: { metadata: { name: 'a', labels: {}, creationTimestamp: null, generation: 0, deletionGracePeriodSeconds: 0 } },
  };
  expect(schema.coerce(object)).toBeUndefined();
  expect(object).toEqual({ one: { metadata: { name: 'a', deletionGracePeriodSeconds: 0 } } });
});
