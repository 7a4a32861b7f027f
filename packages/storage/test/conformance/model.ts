import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { repetitions } from '@multiplane/testing';
import type { ListResult, Storage, StorageEvent, StoredValue } from '../../src/interface.ts';
import { type BulkReadStorage, supportsBulkRead } from '../../src/capabilities/bulk-read.ts';
import { compareKeys } from '../../src/key-order.ts';
import { bytes, codeOf, type Limits, type MakeStore, Watching, within } from './subject.ts';

const base = '/registry/model/';
const keys = ['a/1', 'a/2', 'a', 'ab/1', 'b/😀', 'b/\uFFFD'].map((name) => base + name);
const scopes = [base, `${base}a/`, `${base}b/`];

type Step =
  | { readonly do: 'create'; readonly key: string; readonly value: string }
  /** `age` 0: with the current revision; otherwise with that of as many writes before. */
  | { readonly do: 'update' | 'delete'; readonly key: string; readonly value: string; readonly age: number }
  | { readonly do: 'list'; readonly scope: string; readonly limit: number; readonly from: string; readonly age: number }
  | { readonly do: 'compact'; readonly age: number };

const key = fc.constantFrom(...keys);
const value = fc.string({ maxLength: 5 });
const age = fc.nat({ max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), key, value }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('update' as const), key, value, age }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), key, value, age }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      scope: fc.constantFrom(...scopes),
      limit: fc.nat({ max: 3 }),
      from: fc.constantFrom('', ...keys),
      age: fc.nat({ max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), age: fc.nat({ max: 6 }) }) },
);

type State = ReadonlyMap<string, { readonly value: string; readonly revision: number }>;

interface ModelState {
  readonly revision: number;
  readonly state: State;
  readonly key?: string;
  readonly change?: string;
}

/** The simplest implementation: keeps every state. */
class Model {
  readonly states: ModelState[] = [];
  oldest = 0;

  constructor(revision: number) {
    this.states.push({ revision, state: new Map() });
  }
  get now(): { revision: number; state: State } {
    return this.states.at(-1) as { revision: number; state: State };
  }
  /** The state before this many writes. */
  at(age: number): { revision: number; state: State } {
    return this.states[Math.max(0, this.states.length - 1 - age)] as { revision: number; state: State };
  }
  write(key: string, value: string | undefined, revision: number): void {
    if (revision <= this.now.revision) throw new Error(`revision ${revision} follows ${this.now.revision}`);
    const state = new Map(this.now.state);
    const created = !state.has(key);
    if (value === undefined) state.delete(key);
    else state.set(key, { value, revision });
    this.states.push({ revision, state, key, change: change(key, value, created, revision) });
  }
}

const change = (key: string, value: string | undefined, created: boolean, revision: number): string =>
  JSON.stringify(value === undefined ? ['delete', key, revision] : ['put', key, value, created, revision]);

async function play(store: Storage, model: Model, steps: readonly Step[], without: Limits): Promise<void> {
  for (const step of steps) {
    if (step.do === 'create') {
      if (model.now.state.has(step.key)) {
        expect(await codeOf(store.create(step.key, bytes(step.value)))).toBe('KeyExists');
      } else model.write(step.key, step.value, await store.create(step.key, bytes(step.value)));
    } else if (step.do === 'list') await compareList(store, model, step, without);
    else if (step.do === 'compact') {
      const { revision } = model.at(step.age);
      await store.compact(revision);
      model.oldest = Math.max(model.oldest, revision);
    } else {
      const current = model.now.state.get(step.key)?.revision;
      const expected = step.age === 0 ? (current ?? model.now.revision) : model.at(step.age).revision;
      const attempt =
        step.do === 'update' ? store.update(step.key, bytes(step.value), expected) : store.delete(step.key, expected);
      if (current !== expected) expect(await codeOf(attempt)).toBe('RevisionConflict');
      else model.write(step.key, step.do === 'update' ? step.value : undefined, await attempt);
    }
    const current = await store.currentRevision();
    if (without.freeCompaction === true) expect(current).toBeGreaterThanOrEqual(model.now.revision);
    else expect(current).toBe(model.now.revision);
  }
}

async function compareList(
  store: Storage,
  model: Model,
  step: Extract<Step, { do: 'list' }>,
  without: Limits,
): Promise<void> {
  const { revision, state } = model.at(step.age);
  const options = { limit: step.limit, from: step.from, ...(step.age > 0 && { revision }) };
  if (step.age > 0 && without.history === 'most') return;
  const oldest = without.history === 'all' ? await store.currentRevision() : model.oldest;
  if (step.age > 0 && revision < oldest) {
    expect(await codeOf(store.list(step.scope, options))).toBe('Compacted');
    if (supportsBulkRead(store)) expect(await codeOf(store.readBulk(step.scope, revision))).toBe('Compacted');
    return;
  }
  const all = [...state]
    .filter(([key]) => key.startsWith(step.scope) && compareKeys(key, step.from) >= 0)
    .sort(([a], [b]) => compareKeys(a, b))
    .map(([key, { value, revision }]) => ({ key, value: bytes(value), revision }));
  const items = step.limit === 0 ? all : all.slice(0, step.limit);
  const result = await store.list(step.scope, options);
  const expected: ListResult = {
    items,
    revision: without.freeCompaction === true ? result.revision : revision,
    remaining: all.length - items.length,
  };
  expect(result).toEqual(expected);
  expect(result.revision).toBeGreaterThanOrEqual(revision);
  if (supportsBulkRead(store))
    expect(await inBulk(store, step.scope, revision)).toEqual(await inPages(store, step.scope, revision));
}

async function inBulk(store: BulkReadStorage, scope: string, revision: number): Promise<StoredValue[]> {
  const state = await store.readBulk(scope, revision);
  const items: StoredValue[] = Array.from({ length: state.keys.length });
  for await (const batch of state.batches) {
    for (const { index, value, revision } of batch) {
      items[index] = { key: state.keys[index] as string, value: Buffer.from(value), revision };
    }
  }
  return items;
}

async function inPages(store: Storage, scope: string, revision: number): Promise<readonly StoredValue[]> {
  return (await store.list(scope, { revision })).items;
}

/** A watch from each kept revision must deliver the remaining changes. */
async function compareWatches(store: Storage, model: Model, without: Limits): Promise<void> {
  const starts = model.states.filter(({ revision }) => revision >= model.oldest).slice(-8, -1);
  await Promise.all(
    starts.map(async ({ revision }) => {
      const later = model.states.filter((state) => state.revision > revision);
      const delivered = without.history === undefined ? later : lastOfEachKey(later);
      const expected = delivered.map((state) => state.change);
      const end = delivered.at(-1)?.revision ?? revision;
      const watching = await new Watching(store, base, revision).until(
        ({ batches }) => (batches.at(-1)?.revision ?? revision) >= end,
      );
      const seen = deliveredOf(watching.events, without).map((event) =>
        change(event.key, event.type === 'put' ? event.value?.toString() : undefined, event.created, event.revision),
      );
      expect(comparable(seen, without)).toEqual(comparable(expected, without));
      await watching.stop();
    }),
  );
}

/**
 * Where a later message replaces an earlier one, a cache may not have seen the creation of an object: then its update is the first change that
 * the cache knows.
 */
function comparable(changes: readonly (string | undefined)[], without: Limits): readonly (string | undefined)[] {
  if (without.history !== 'most') return changes;
  return changes.map((text) =>
    JSON.stringify((JSON.parse(text ?? '[]') as unknown[]).filter((part) => typeof part !== 'boolean')),
  );
}

function deliveredOf(events: readonly StorageEvent[], without: Limits): readonly StorageEvent[] {
  if (without.history === undefined) return events;
  return events.filter(({ key }, i) => !events.slice(i + 1).some((later) => later.key === key));
}

function lastOfEachKey(states: readonly ModelState[]): ModelState[] {
  return states.filter(({ key }, i) => !states.slice(i + 1).some((later) => later.key === key));
}

export function modelConformance(makeStore: MakeStore, numRuns: number, without: Limits): void {
  describe('model', () => {
    // oxlint-disable-next-line jest/expect-expect -- play and compareWatches expect
    test(
      'random sequences of operations and watches behave like the model',
      async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
            const store = await makeStore();
            try {
              const model = new Model(await store.currentRevision());
              model.oldest = model.now.revision;
              await play(store, model, steps, without);
              await compareWatches(store, model, without);
            } finally {
              await within(10_000, store.close(), () => 'close');
            }
          }),
          { numRuns: repetitions(numRuns) },
        );
      },
      repetitions(60_000),
    );
  });
}
