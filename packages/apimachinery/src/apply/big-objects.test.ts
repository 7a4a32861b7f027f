import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Json, JsonObject } from '../json/json.ts';
import { Owned, everything, listOf, mapOf, oneVersion, struct, text } from '../../test/apply-fixture.ts';
import { ListItemError } from './typed-schema.ts';
import { ListElements } from './list-elements.ts';
import { TooManyFieldsError, encodeFieldsV1, encodeIncrementally } from './fields-v1.ts';
import { mergeIncrementally, mergeTyped } from './merge-typed.ts';
import { FieldSet } from './field-set.ts';
import { runToCompletion } from '../async/run-to-completion.ts';
import { validateTyped } from './validate-typed.ts';
import { type ManagerUpdate, applyConfiguration, updateOwnership } from './update-managers.ts';

const schema = struct({
  rows: listOf(struct({ name: text, value: text, tags: listOf(text, []) }), ['name']),
  tags: listOf(text, []),
  members: mapOf(text),
  more: struct({ note: text }),
});

/** A table in which everything is longer than what is done in one go. */
function table(count: number, value: string, first = 0): JsonObject {
  const numbers = Array.from({ length: count }, (_, n) => n + first);
  return {
    rows: numbers.map((n) => ({ name: `r${n}`, value: n % 3 === 0 ? 'same' : value, tags: [`t${n % 5}`] })),
    tags: numbers.map((n) => `tag${n}`),
    members: Object.fromEntries(numbers.map((n) => [`m${n}`, value])),
    more: { note: value },
  };
}

/** Runs to the end, and counts the pauses. */
function drain<T>(steps: Generator<void, T>): { readonly result: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, pauses };
  }
}

const states: readonly (readonly [string, JsonObject])[] = [
  ['nothing', {}],
  ['the same', table(3_000, 'a')],
  ['other values', table(3_000, 'b')],
  ['fewer', table(1_400, 'a')],
  ['some of them and new ones', table(3_000, 'a', 2_000)],
  ['the other way round', { ...table(3_000, 'a'), rows: (table(3_000, 'a')['rows'] as Json[]).toReversed() }],
];

const updateOf = (owned: Owned, manager: string): ManagerUpdate => ({
  live: { value: owned.object, schema: owned.schema },
  apiVersion: 'v1',
  managers: owned.managers,
  manager,
  views: oneVersion,
  filter: (set: FieldSet) => set,
});

describe('something big is done in steps, to the same end', () => {
  test.each(states)('apply of %s', (_, config) => {
    const owned = new Owned(schema);
    owned.apply('one', table(3_000, 'a'));
    owned.apply('two', { rows: [{ name: 'r7', value: 'a' }, { name: 'mine' }] });
    const update = updateOf(owned, 'one');
    const expected = runToCompletion(applyConfiguration(update, config, true));
    const { result, pauses } = drain(applyConfiguration({ ...update, elements: new ListElements() }, config, true));
    expect(JSON.stringify(result.object)).toBe(JSON.stringify(expected.object));
    expect([...result.managers.keys()]).toEqual([...expected.managers.keys()]);
    for (const [key, { set }] of expected.managers) expect(result.managers.get(key)?.set.equals(set)).toBe(true);
    expect(pauses).toBeGreaterThan(3);
  });

  test.each(states)('update to %s', (_, object) => {
    const owned = new Owned(schema);
    owned.apply('one', table(3_000, 'a'));
    const update = updateOf(owned, 'else');
    const expected = runToCompletion(updateOwnership(update, { value: object, schema }));
    const { result } = drain(updateOwnership({ ...update, elements: new ListElements() }, { value: object, schema }));
    expect(result.taken.equals(expected.taken)).toBe(true);
    for (const [key, { set }] of expected.managers) expect(result.managers.get(key)?.set.equals(set)).toBe(true);
  });

  test.each([true, false])('entries are written as they are in one go, sorted by text: %s', (byText) => {
    const fresh = (): FieldSet => {
      const owned = new Owned(schema);
      owned.apply('one', table(3_000, 'a'));
      return owned.owns('one');
    };
    const set = fresh();
    const { pauses } = drain(encodeIncrementally([set], byText));
    expect(pauses).toBeGreaterThan(3);
    expect(JSON.stringify(encodeFieldsV1(set, byText))).toBe(JSON.stringify(encodeFieldsV1(fresh(), byText)));
  });
});

/** Many nodes of few children: no node is wide. */
const nested = (value: string): JsonObject => ({
  rows: Array.from({ length: 200 }, (_, n) => ({
    name: `r${n}`,
    tags: Array.from({ length: 100 }, (__, tag) => `t${(tag * 37) % 101}${value}`),
  })),
});

test('many nodes of few children are passed over with pauses, to the same end', () => {
  const owned = new Owned(schema);
  owned.apply('one', nested('a'));
  const update = updateOf(owned, 'one');
  const expected = runToCompletion(applyConfiguration(update, nested('b'), true));
  const { result, pauses } = drain(applyConfiguration({ ...update, elements: new ListElements() }, nested('b'), true));
  expect(JSON.stringify(result.object)).toBe(JSON.stringify(expected.object));
  const set = result.managers.get('one')?.set as FieldSet;
  expect(set.equals(expected.managers.get('one')?.set as FieldSet)).toBe(true);
  expect(pauses).toBeGreaterThan(10);
  expect(drain(encodeIncrementally([set], false)).pauses).toBeGreaterThan(5);
});

test('the problems of a configuration are found with and without known elements', () => {
  const config = { ...table(30_000, 'a'), tags: [...(table(30_000, 'a')['tags'] as Json[]), 'tag7', 5] };
  const check = (elements?: ListElements) => (): void => validateTyped(config, schema, elements);
  expect(check()).toThrow(/duplicate entries|expected string/);
  let message = '';
  try {
    check()();
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(check(new ListElements())).toThrow(message);
});

test('an ownership that no value of etcd has room for is not encoded', () => {
  const children = Array.from({ length: 131_073 }, (_, n) => [`v:${n}`, FieldSet.leaf] as const);
  const set = FieldSet.node(false, new Map(children));
  expect(() => encodeFieldsV1(set)).toThrow(TooManyFieldsError);
  expect(() => drain(encodeIncrementally([set], false))).toThrow(TooManyFieldsError);
});

test('long lists in any order are merged in steps to the same end', () => {
  const tags = fc.uniqueArray(fc.nat(1_500), { minLength: 0, maxLength: 1_000, size: 'max' });
  fc.assert(
    fc.property(tags, tags, (live, config) => {
      const of = (numbers: number[]): JsonObject => ({
        tags: numbers.map((n) => `t${n}`),
        rows: numbers.map((n) => ({ name: `r${n}`, value: String(n % 7) })),
      });
      const merging = mergeIncrementally(of(live), of(config), schema, new ListElements());
      expect(runToCompletion(merging)).toEqual(mergeTyped(of(live), of(config), schema));
    }),
    { numRuns: 30 },
  );
});

test('a long list is merged with pauses', () => {
  const tags = Array.from({ length: 20_000 }, (_, n) => `t${n}`);
  const { pauses } = drain(mergeIncrementally({ tags }, { tags: tags.toReversed() }, schema, new ListElements()));
  expect(pauses).toBeGreaterThanOrEqual(20);
});

test('items that have no place in a long list are refused as in a short one', () => {
  const owned = new Owned(everything);
  const ports = Array.from({ length: 400 }, (_, n) => (n === 300 ? null : { port: n }));
  const update = { ...updateOf(owned, 'one'), live: { value: { ports: [{ port: 1 }] }, schema: everything } };
  const attempt = (elements?: ListElements): unknown =>
    drain(applyConfiguration({ ...update, elements }, { ports }, true));
  expect(() => attempt()).toThrow(ListItemError);
  expect(() => attempt(new ListElements())).toThrow('associative list with keys may not have a null element');
});

test('taking most or little of a set away leaves the rest in its order', () => {
  const owned = new Owned(schema);
  owned.apply('all', table(1_000, 'a'));
  for (const [count, first] of [
    [10, 500],
    [900, 0],
  ] as const) {
    const other = new Owned(schema);
    other.apply('some', table(count, 'a', first));
    const rest = owned.owns('all').difference(other.owns('some'));
    const names = [...(rest.at(['f:members'])?.children?.keys() ?? [])];
    const gone = new Set(Array.from({ length: count }, (_, n) => `f:m${n + first}`));
    expect(names).toEqual(Array.from({ length: 1_000 }, (_, n) => `f:m${n}`).filter((name) => !gone.has(name)));
  }
});
