import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runToCompletion } from '../async/run-to-completion.ts';
import { deepCopy, deepEqual, type JsonObject } from '../json/json.ts';
import { ApplyConflicts } from './apply-conflict.ts';
import { Owned, everything } from '../../test/apply-fixture.ts';
import { compareTyped } from './compare-typed.ts';
import { mergeTyped } from './merge-typed.ts';
import { fieldSetOf } from './field-set-of.ts';
import { fieldsOfNew } from './fields-of-new.ts';
import { decodeFieldsV1, decodeFieldsV1Incrementally, encodeFieldsV1 } from './fields-v1.ts';
import { extractFields } from './remove-fields.ts';
import { FieldSet } from './field-set.ts';

const word = fc.constantFrom('a', 'b', 'c');
const ports = fc.uniqueArray(
  fc.record(
    { port: fc.constantFrom(1, 2, 3), protocol: fc.constantFrom('TCP', 'UDP'), note: word },
    { requiredKeys: ['port'] },
  ),
  { selector: ({ port, protocol }) => `${port}/${protocol ?? 'TCP'}`, minLength: 1, maxLength: 4 },
);
/** Configurations that fit the schema. No list of items is empty: an empty one owns nothing, so that an apply may take it away. */
const config: fc.Arbitrary<JsonObject> = fc.record(
  {
    name: word,
    n: fc.constantFrom(1, 2),
    free: fc.dictionary(
      word,
      fc.oneof(word, fc.array(word, { maxLength: 2 }), fc.dictionary(word, word, { maxKeys: 2 })),
      {
        maxKeys: 2,
      },
    ),
    labels: fc.dictionary(word, word, { maxKeys: 3 }),
    whole: fc.dictionary(word, word, { maxKeys: 3 }),
    plain: fc.array(word, { maxLength: 3 }),
    tags: fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
    ports,
    inner: fc.record({ a: word, b: word, deep: fc.record({ c: word }, { requiredKeys: [] }) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

const manager = fc.constantFrom('one', 'two', 'three');
const step = fc.record({ manager, config, how: fc.constantFrom('apply', 'force', 'update') });

/** Does what a client would; a conflict changes nothing. */
function take(
  on: Owned,
  { manager: who, config: what, how }: { manager: string; config: JsonObject; how: string },
): boolean {
  if (how === 'update') {
    on.update(`${who}-update`, deepCopy<JsonObject>(what));
    return true;
  }
  try {
    on.apply(who, what, how === 'force');
    return true;
  } catch (error) {
    if (!(error instanceof ApplyConflicts)) throw error;
    return false;
  }
}

/** The parts of an object that a set speaks of. */
const partOf = (object: JsonObject, set: FieldSet): JsonObject => extractFields(object, set, everything);

/** Items of lists and members of free maps: what is named by itself and not by a schema. */
const isItem = (path: readonly string[]): boolean =>
  path.at(-1)?.startsWith('f:') === false || (path.length > 1 && ['f:labels', 'f:free'].includes(path[0] as string));

describe('after any writes of three managers', () => {
  const writes = fc.array(step, { maxLength: 6 });

  test('an apply leads to an object that has what was applied', () => {
    fc.assert(
      fc.property(writes, config, (before, last) => {
        const on = new Owned();
        for (const one of before) take(on, one);
        on.apply('one', last, true);
        const own = fieldSetOf(last, everything);
        expect(compareTyped(on.object, mergeTyped(on.object, last, everything), everything).isSame).toBe(true);
        expect(on.owns('one').equals(own)).toBe(true);
      }),
    );
  });

  test('the same apply again changes nothing', () => {
    fc.assert(
      fc.property(writes, config, (before, last) => {
        const on = new Owned();
        for (const one of before) take(on, one);
        on.apply('one', last, true);
        const { managers } = on;
        expect(on.apply('one', deepCopy<JsonObject>(last)).object).toBeUndefined();
        expect([...on.managers.keys()].toSorted()).toEqual([...managers.keys()].toSorted());
        for (const [key, { set }] of on.managers)
          expect(set.equals(managers.get(key)?.set ?? FieldSet.empty)).toBe(true);
      }),
    );
  });

  test('an apply of what was read back changes nothing of the object', () => {
    fc.assert(
      fc.property(writes, manager, (before, who) => {
        const on = new Owned();
        for (const one of before) take(on, one);
        const read = deepCopy<JsonObject>(on.object);
        on.apply(who, read);
        expect(on.object).toEqual(read);
      }),
    );
  });

  test('no two managers own an atomic field with different wishes: who differed has lost it', () => {
    fc.assert(
      fc.property(writes, (all) => {
        const on = new Owned();
        const wishes = new Map<string, JsonObject>();
        for (const one of all) if (take(on, one) && one.how !== 'update') wishes.set(one.manager, one.config);
        for (const [who, wish] of wishes) {
          // What an applier still owns has the value that it asked for.
          const own = on.owns(who).intersection(fieldSetOf(wish, everything));
          expect(compareTyped(partOf(on.object, own), partOf(wish, own), everything).modified.isEmpty).toBe(true);
        }
      }),
    );
  });

  test('a field is removed only when its last owner gives it up', () => {
    fc.assert(
      fc.property(writes, manager, config, (before, who, last) => {
        const on = new Owned();
        for (const one of before) take(on, one);
        const others = [...on.managers].filter(([key]) => key !== who);
        const owned = others.reduce((all, [, { set }]) => all.union(set), FieldSet.empty);
        const had = fieldSetOf(on.object, everything).intersection(owned);
        if (!take(on, { manager: who, config: last, how: 'apply' })) return;
        const has = fieldSetOf(on.object, everything);
        const lost = [...had.paths()].filter((path) => {
          // An item goes with all in it when its last owner lets go of it; an empty structure may have content now.
          const items = path.map((_, end) => path.slice(0, end + 1)).filter(isItem);
          return items.every((item) => owned.has(item)) && has.at(path) === undefined;
        });
        expect(lost).toEqual([]);
      }),
    );
  });

  test('no manager owns an absent field', () => {
    fc.assert(
      fc.property(writes, (all) => {
        const on = new Owned();
        for (const one of all) take(on, one);
        for (const [, { set }] of on.managers) {
          const found = partOf(on.object, set);
          for (const key of Object.keys(found)) expect(Object.hasOwn(on.object, key)).toBe(true);
          expect(set.isEmpty).toBe(false);
        }
      }),
    );
  });
});

describe('sets of real objects', () => {
  const set = config.map((object) => fieldSetOf(object, everything));

  test('survive FieldsV1', () => {
    fc.assert(
      fc.property(set, fc.boolean(), (one, byText) => {
        const document = JSON.parse(JSON.stringify(encodeFieldsV1(one, byText))) as JsonObject;
        const copy = deepCopy(document);
        expect(decodeFieldsV1(document).equals(one)).toBe(true);
        expect(runToCompletion(decodeFieldsV1Incrementally(copy)).equals(one)).toBe(true);
      }),
    );
  });

  test('of a new object are what a comparison with what was there finds', () => {
    fc.assert(
      fc.property(config, config, (before, after) => {
        const { added, modified } = compareTyped(before, after, everything);
        expect(fieldsOfNew(before, after, everything).equals(modified.union(added))).toBe(true);
        const all = compareTyped({}, after, everything).added;
        expect(fieldsOfNew({}, after, everything).equals(all)).toBe(true);
      }),
    );
  });

  test('obey the laws of sets', () => {
    fc.assert(
      fc.property(set, set, set, (a, b, c) => {
        expect(a.union(b).equals(b.union(a))).toBe(true);
        expect(a.intersection(b).equals(b.intersection(a))).toBe(true);
        expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
        expect(a.difference(b).intersection(b).isEmpty).toBe(true);
        expect(a.intersection(b.union(c)).equals(a.intersection(b).union(a.intersection(c)))).toBe(true);
        expect(deepEqual(encodeFieldsV1(a), encodeFieldsV1(a.union(a)))).toBe(true);
      }),
    );
  });
});
