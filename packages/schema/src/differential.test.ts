import { expect, test } from '@jest/globals';
import { deepCopy, type Json, type JsonObject } from '@multiplane/apimachinery';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { compileSchema } from './compile-schema.ts';

/** ajv judges the same schemas and values, in the part of JSON Schema that both understand. */
const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false });

const names = ['a', 'b', 'c'] as const;
/** Schemas and values stay small: what matters is how rules work together, not how deep. */
const depth = fc.createDepthIdentifier();
const sometimes = (freq: number) => ({ nil: undefined, freq, maxDepth: 3, depthIdentifier: depth }) as const;
const number = fc.integer({ min: -4, max: 8 });
const size = fc.integer({ min: 0, max: 3 });
const text = fc.constantFrom('', 'a', 'ab', 'abc', 'b', '😀', '😀😀');
const scalar: fc.Arbitrary<Json> = fc.oneof(number, fc.constantFrom(0.5, 2.5, -1.5), text, fc.boolean());
const value = fc.letrec<{ value: Json; object: Json; array: Json }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalar, fc.constant(null), tie('object'), tie('array')),
  object: fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
  array: fc.array(tie('value'), { maxLength: 3 }),
}));

const optional = <T extends Json>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, sometimes(2));
const withoutUndefined = (schema: Record<string, Json | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([, rule]) => rule !== undefined)) as JsonObject;

const valueRules = {
  minimum: optional(number),
  maximum: optional(number),
  multipleOf: optional(fc.constantFrom(1, 2, 3)),
  minLength: optional(size),
  maxLength: optional(size),
  pattern: optional(fc.constantFrom('^a', 'b$', '^a*$')),
  minItems: optional(size),
  maxItems: optional(size),
  minProperties: optional(size),
  maxProperties: optional(size),
  required: optional(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 })),
  enum: fc.option(fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }), sometimes(8)),
};

const schema = fc.letrec<{ schema: JsonObject; rules: JsonObject; typed: JsonObject }>((tie) => ({
  rules: fc
    .record({
      ...valueRules,
      allOf: fc.option(fc.array(tie('rules'), { minLength: 1, maxLength: 2 }), sometimes(8)),
      not: fc.option(tie('rules'), sometimes(12)),
    })
    .map(withoutUndefined),
  typed: fc
    .record({
      type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'object', 'array'),
      nullable: optional(fc.constant(true)),
      ...valueRules,
      anyOf: fc.option(fc.array(tie('rules'), { minLength: 1, maxLength: 3 }), sometimes(6)),
      oneOf: fc.option(fc.array(tie('rules'), { minLength: 1, maxLength: 3 }), sometimes(6)),
      allOf: fc.option(fc.array(tie('rules'), { minLength: 1, maxLength: 2 }), sometimes(6)),
      not: fc.option(tie('rules'), sometimes(6)),
    })
    .map(withoutUndefined),
  schema: fc.oneof(
    { maxDepth: 3, depthIdentifier: depth },
    tie('typed'),
    fc
      .tuple(tie('typed'), fc.dictionary(fc.constantFrom(...names), tie('schema'), { maxKeys: 3 }))
      .map(([typed, properties]): JsonObject => ({ ...typed, type: 'object', properties })),
    fc.tuple(tie('typed'), tie('schema')).map(([typed, items]): JsonObject => ({ ...typed, type: 'array', items })),
    fc
      .tuple(tie('typed'), tie('schema'))
      .map(([typed, additionalProperties]): JsonObject => ({ ...typed, type: 'object', additionalProperties })),
  ),
}));

/** The one known difference: null satisfies a nullable schema without being asked anything but its enumeration. */
const holdsNull = (json: Json): boolean =>
  json === null || (typeof json === 'object' && Object.values(json).some((inner) => holdsNull(inner)));

test('agrees with ajv', () => {
  fc.assert(
    fc.property(schema.schema, value.value, (source, json) => {
      fc.pre(!holdsNull(json));
      const whole: JsonObject = { type: 'object', properties: { spec: source } };
      const ours = compileSchema(deepCopy(whole), { origin: 'custom' }).validate({ spec: json });
      const theirs = ajv.compile(whole)({ spec: json });
      ajv.removeSchema(whole);
      expect([ours.map((error) => `${error.field}: ${error.detail}`), ours.length === 0]).toEqual([
        expect.anything(),
        theirs,
      ]);
    }),
    { numRuns: 300 },
  );
});

test('what is pruned and defaulted stays so', () => {
  fc.assert(
    fc.property(schema.schema, value.object, (source, json) => {
      const compiled = compileSchema({ type: 'object', properties: { spec: source } }, { origin: 'custom' });
      const once = deepCopy<JsonObject>({ spec: json });
      compiled.prune(once);
      compiled.applyDefaults(once);
      const twice = deepCopy(once);
      expect(compiled.prune(twice).unknownFields).toEqual([]);
      compiled.applyDefaults(twice);
      expect(twice).toEqual(once);
    }),
    { numRuns: 300 },
  );
});

test('an unchanged object is never refused', () => {
  fc.assert(
    fc.property(schema.schema, value.value, (source, json) => {
      const compiled = compileSchema({ type: 'object', properties: { spec: source } }, { origin: 'custom' });
      const object: JsonObject = { spec: json };
      expect(compiled.validate(deepCopy(object), { old: object })).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
