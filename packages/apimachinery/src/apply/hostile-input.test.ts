import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deepCopy, type Json, type JsonObject } from '../json/json.ts';
import { ApplyConflicts, applyConflictStatus } from './apply-conflict.ts';
import { Owned, everything, text } from '../../test/apply-fixture.ts';
import { FieldSet } from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';
import { type ManagerOperation, decodeManagedFields, encodeManagedFields, managerKey } from './managed-fields.ts';
import { ListItemError, type TypedSchema } from './typed-schema.ts';
import { TypedValueError, validateTyped } from './validate-typed.ts';

const names = [
  'name',
  'n',
  'free',
  'labels',
  'whole',
  'plain',
  'tags',
  'ports',
  'inner',
  '__proto__',
  'constructor',
  '',
];
const scalar = fc.oneof(fc.constantFrom(null, true, 0, 1.5, 2n ** 60n, '', 'TCP'), fc.string({ maxLength: 3 }));
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names, 'port', 'protocol', 'a'), tie('value'), { maxKeys: 4 }),
  ),
}));
const object = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }) as fc.Arbitrary<JsonObject>;

const key = (operation: ManagerOperation, manager: string): string =>
  managerKey({ manager, operation, apiVersion: 'v1', subresource: '' });

/** Runs what may refuse its input in one of the ways that have an answer. */
function refusals(run: () => void): boolean {
  try {
    run();
    return false;
  } catch (error) {
    if (error instanceof ListItemError || error instanceof TypedValueError) return true;
    if (!(error instanceof ApplyConflicts)) throw error;
    return applyConflictStatus(error).message.startsWith('Apply failed with ');
  }
}

describe('whatever a client sends', () => {
  test('is applied or refused', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('one', 'two'), object, fc.boolean(), fc.boolean()), { maxLength: 5 }),
        (writes) => {
          const on = new Owned();
          for (const [who, config, force, update] of writes) {
            const before = deepCopy<JsonObject>(on.object);
            const refused = refusals(() => {
              if (update) return on.update(key('Update', who), config);
              validateTyped(config, everything);
              on.apply(key('Apply', who), config, force);
            });
            if (refused) expect(on.object).toEqual(before);
          }
          expect([Object.prototype, null]).toContain(Object.getPrototypeOf(on.object));
        },
      ),
    );
  });

  test('never changes what it was given', () => {
    fc.assert(
      fc.property(object, object, (live, config) => {
        const on = new Owned();
        on.object = live;
        const [liveBefore, configBefore] = [deepCopy<JsonObject>(live), deepCopy<JsonObject>(config)];
        refusals(() => void on.apply('one', config, true));
        expect(live).toEqual(liveBefore);
        expect(config).toEqual(configBefore);
      }),
    );
  });

  test('as fields is a set or an error, and what is a set stays one', () => {
    const part = fc.oneof(
      fc.constantFrom(
        '.',
        'f:a',
        'f:',
        'k:{}',
        'k:{"a":1}',
        'k:{"b":2,"a":1}',
        'v:1',
        'v:"x"',
        'v:[]',
        'v:nope',
        'i:1',
        'i:-1',
        'x:y',
        'f',
      ),
      fc.string({ maxLength: 4 }),
    );
    const { fields } = fc.letrec<{ fields: JsonObject }>((tie) => ({
      fields: fc.dictionary(part, fc.oneof({ maxDepth: 3 }, fc.constant({}), tie('fields')), {
        maxKeys: 4,
      }) as fc.Arbitrary<JsonObject>,
    }));
    fc.assert(
      fc.property(fields, (document) => {
        let set: FieldSet;
        try {
          set = decodeFieldsV1(document);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
          return;
        }
        const again = JSON.parse(JSON.stringify(encodeFieldsV1(set.union(FieldSet.of(['f:new']))))) as JsonObject;
        expect(decodeFieldsV1(again).equals(set.union(FieldSet.of(['f:new'])))).toBe(true);
      }),
    );
  });

  test('as an entry of managedFields is one, or none', () => {
    const entry = fc.record(
      {
        manager: fc.string({ maxLength: 3 }),
        operation: fc.constantFrom('Apply', 'Update'),
        apiVersion: fc.constantFrom('v1', 'g/v1'),
        time: fc.constantFrom('2026-01-02T03:04:05Z', 'never', ''),
        fieldsType: fc.constant('FieldsV1'),
        fieldsV1: fc.constantFrom<JsonObject>({ 'f:a': {} }, {}, { 'f:a': { 'f:b': {} } }),
        subresource: fc.constantFrom('', 'status'),
      },
      { requiredKeys: ['operation', 'apiVersion', 'fieldsType'] },
    ) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
        const encoded = encodeManagedFields(decodeManagedFields(entries));
        const again = JSON.parse(JSON.stringify(encoded)) as JsonObject[];
        expect(encodeManagedFields(decodeManagedFields(again))).toEqual(encoded);
      }),
    );
  });
});

test('an object nested as deeply as bodies may be is compared, merged and pruned', () => {
  const deep: { scalar: undefined; list: undefined; map: TypedSchema['map'] } = {
    scalar: undefined,
    list: undefined,
    map: undefined,
  };
  deep.map = {
    atomic: false,
    fields: new Map<string, TypedSchema>([
      ['a', deep],
      ['x', text],
    ]),
    element: undefined,
  };
  const nested = (leaf: JsonObject): JsonObject => {
    let result = leaf;
    for (let depth = 0; depth < 990; depth++) result = { a: result };
    return result;
  };
  const on = new Owned(deep);
  on.apply('one', nested({ x: '1' }));
  on.apply('two', nested({ x: '1' }));
  on.apply('one', {});
  expect(JSON.stringify(on.object)).toContain('"x":"1"');
  on.apply('two', {});
  expect(on.object).toEqual({});
});
