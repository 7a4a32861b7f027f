/* oxlint-disable jest/no-standalone-expect, jest/expect-expect -- the class that plays the history expects */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { CacheIndexDefinition, ValueRequirement } from '../cache-indexes.ts';
import { CompactedError, StorageUnavailableError, isStorageError } from '../errors.ts';
import { compareKeys } from '../key-order.ts';
import type { CacheSnapshot } from '../watch-cache-interface.ts';
import { openWatchCache } from './open-watch-cache.ts';
import { inScope } from './scope.ts';
import { ScriptedBackend } from '../../test/cacher/scripted-backend.ts';
import type { BackedWatchCache } from './watch-cache.ts';
import { FakeClock } from '@multiplane/testing';

const keys = [
  'core/maps/a/1',
  'core/maps/a/2',
  'core/maps/ab/1',
  'core/maps/b/😀',
  'core/maps/b/\uFFFD',
  'core/secrets/a/1',
  'x',
].map((name) => `/registry/${name}`);
const scopes = ['/registry/', '/registry/core/', '/registry/core/maps/', '/registry/core/maps/a/', ...keys.slice(0, 2)];

type Step =
  | { readonly do: 'write'; readonly key: string; readonly size: number; readonly burst: number }
  | { readonly do: 'delete'; readonly key: string }
  | {
      readonly do: 'snapshot' | 'subscribe';
      readonly scope: string;
      readonly age: number;
      readonly digit: string | undefined;
    }
  | { readonly do: 'index' | 'drop' }
  | { readonly do: 'unsubscribe'; readonly index: number }
  | { readonly do: 'compact'; readonly age: number }
  | { readonly do: 'interrupt' | 'lose' };

const key = fc.constantFrom(...keys);
const age = fc.nat({ max: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      key,
      size: fc.nat({ max: 2000 }),
      burst: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('snapshot' as const, 'subscribe' as const),
      scope: fc.constantFrom(...scopes),
      age,
      digit: fc.option(fc.constantFrom('0', '1', '2'), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), index: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), age }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('index' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('interrupt' as const, 'lose' as const) }) },
);

interface Change {
  readonly key: string;
  readonly text: string | undefined;
  readonly revision: number;
}

/** Texts begin with a digit, by which the objects of two identities are indexed. */
const digitOf = (text: string | undefined): string | undefined => text?.[0];
const whereDigit = (digit: string | undefined): ValueRequirement | undefined =>
  digit === undefined ? undefined : { name: 'digit', value: digit };
const digitIndex = (identity: string): CacheIndexDefinition => ({
  identity,
  name: 'digit',
  valueOf: ({ value }) => digitOf(value.toString()),
});

interface Subscriber {
  readonly scope: string;
  readonly digit: string | undefined;
  readonly after: number;
  readonly events: Change[];
  /** The last revision that it may assume. */
  until: number;
  stop: () => void;
}

/** Plays a history against the cache and keeps it for comparison. */
class Play {
  readonly backend = new ScriptedBackend();
  readonly clock = new FakeClock();
  readonly cache: BackedWatchCache;
  readonly changes: Change[] = [];
  readonly snapshots: { scope: string; digit: string | undefined; snapshot: CacheSnapshot }[] = [];
  readonly subscribers: Subscriber[] = [];

  constructor(windowBytes: number) {
    this.cache = openWatchCache(
      { windowBytes, pageSize: 3 },
      { storage: this.backend, clock: this.clock, onError: () => undefined },
    );
  }

  stateAt(revision: number, scope: string, digit?: string): string[] {
    const state = new Map<string, string>();
    for (const change of this.changes) {
      if (change.revision > revision || !inScope(scope, change.key)) continue;
      if (change.text === undefined || (digit !== undefined && digitOf(change.text) !== digit))
        state.delete(change.key);
      else state.set(change.key, `${change.key}@${change.revision}=${change.text}`);
    }
    return [...state].sort(([a], [b]) => compareKeys(a, b)).map(([, text]) => text);
  }

  async step(step: Step): Promise<void> {
    const { backend, cache } = this;
    if (step.do === 'write') {
      for (let i = 0; i < step.burst; i++) {
        const text = `${i}${'x'.repeat(step.size)}`;
        const current = await backend.get(step.key);
        const value = Buffer.from(text);
        const revision = await (current
          ? backend.update(step.key, value, current.revision)
          : backend.create(step.key, value));
        this.changes.push({ key: step.key, text, revision });
      }
    } else if (step.do === 'delete') {
      const current = await backend.get(step.key);
      if (current === undefined) return;
      this.changes.push({ key: step.key, text: undefined, revision: await backend.delete(step.key, current.revision) });
    } else if (step.do === 'snapshot')
      this.#inWindow(step.age, (revision) => {
        const present = cache.listCurrent(step.scope).map(({ key, revision: at }) => ({ key, at }));
        const now = cache.snapshot(step.scope).entries(undefined, Infinity);
        expect(present).toEqual(now.map(({ key, revision: at }) => ({ key, at })));
        const { scope, digit } = step;
        this.snapshots.push({ scope, digit, snapshot: cache.snapshot(scope, revision, whereDigit(digit)) });
      });
    else if (step.do === 'subscribe')
      this.#inWindow(step.age, (revision) => this.#subscribe(step.scope, revision, step.digit));
    else if (step.do === 'index') for (const identity of ['a', 'b']) cache.indexes.add(digitIndex(identity));
    else if (step.do === 'drop') cache.indexes.remove('a', 'digit');
    else if (step.do === 'unsubscribe') this.#unsubscribe(this.subscribers[step.index]);
    else if (step.do === 'compact') await cache.compact(Math.max(1, cache.revision - step.age));
    else if (step.do === 'interrupt') backend.breakWatches(new StorageUnavailableError('interrupted'));
    else backend.breakWatches(new CompactedError(0, 1));
    if (step.do === 'interrupt' || step.do === 'lose') await this.clock.advance(60_000);
  }

  /** Runs at an older revision; the only permitted refusal is a revision before the window. */
  #inWindow(age: number, use: (revision: number) => void): void {
    const revision = Math.max(1, this.cache.revision - age);
    try {
      use(revision);
    } catch (error) {
      if (!isStorageError(error, 'Compacted')) throw error;
      expect(revision).toBeLessThan(this.cache.oldestRevision);
    }
  }

  #subscribe(scope: string, after: number, digit: string | undefined): void {
    const subscriber: Subscriber = { scope, digit, after, events: [], until: Infinity, stop: () => undefined };
    subscriber.stop = this.cache.subscribe({
      scope,
      after,
      where: whereDigit(digit),
      onEvent: ({ current, previous, revision }) => {
        const key = (current ?? previous)?.key ?? '';
        const text = previous?.value.toString();
        const before = this.changes.findLast((change) => change.key === key && change.revision < revision);
        // The object before the change is right too.
        expect(text).toBe(before?.text);
        const now = current?.value.toString();
        // Without an index, events of all values arrive.
        if (digit !== undefined && digitOf(text) !== digit && digitOf(now) !== digit) return;
        subscriber.events.push({ key, text: now, revision });
      },
      // When the cache loads again, the revision up to which events were delivered.
      onEnd: (_reason, before) =>
        (subscriber.until = Math.min(subscriber.until, before?.revision ?? this.cache.revision)),
    });
    this.subscribers.push(subscriber);
  }

  #unsubscribe(subscriber: Subscriber | undefined): void {
    if (subscriber === undefined) return;
    subscriber.stop();
    subscriber.until = Math.min(subscriber.until, this.cache.revision);
  }

  #touches({ key, text, revision }: Change, digit: string | undefined): boolean {
    const before = this.changes.findLast((change) => change.key === key && change.revision < revision);
    return digit === undefined || digitOf(text) === digit || digitOf(before?.text) === digit;
  }

  /** With indexes that are built, all kinds of readers once more. */
  async readIndexed(): Promise<void> {
    const { cache } = this;
    for (const identity of ['a', 'b']) {
      cache.indexes.add(digitIndex(identity));
      await cache.indexes.find(`/registry/core/maps/${identity}/`, 'digit')?.built;
    }
    for (const digit of ['0', '1', '2'])
      for (const scope of ['/registry/core/maps/a/', '/registry/core/maps/b/', '/registry/core/maps/a/1'])
        for (const age of [0, 3, 10, 25])
          this.#inWindow(age, (revision) => {
            const snapshot = cache.snapshot(scope, revision, whereDigit(digit));
            expect(snapshot.isNarrowed).toBe(true);
            this.snapshots.push({ scope, digit, snapshot });
            this.#subscribe(scope, revision, digit);
            const count = cache.indexes.find(scope, 'digit')?.count(digit, scope);
            if (scope.endsWith('/')) expect(count).toBe(this.stateAt(cache.revision, scope, digit).length);
          });
    expect(cache.statistics.indexedObjects).toBe(
      cache
        .snapshot('/registry/')
        .entries(undefined, Infinity)
        .filter(({ key }) => /\/(a|b)\//.test(key)).length,
    );
  }

  compare(): void {
    for (const { scope, digit, snapshot } of this.snapshots) {
      const expected = this.stateAt(snapshot.revision, scope, digit);
      const isFiltered = digit === undefined || snapshot.isNarrowed === true;
      const entries = snapshot
        .entries(undefined, Infinity)
        .filter(({ value }) => isFiltered || digitOf(value.toString()) === digit);
      expect(entries.map((entry) => `${entry.key}@${entry.revision}=${entry.value.toString()}`)).toEqual(expected);
      if (isFiltered) expect(snapshot.countFrom(scope)).toBe(expected.length);
    }
    for (const { scope, digit, after, until, events } of this.subscribers) {
      const entitled = (change: Change): boolean =>
        change.revision > after &&
        change.revision <= until &&
        inScope(scope, change.key) &&
        this.#touches(change, digit);
      expect(events).toEqual(this.changes.filter(entitled));
    }
    expect(this.cache.statistics.valueBytes).toBe(
      this.cache
        .snapshot('/registry/')
        .entries(undefined, Infinity)
        .reduce((sum, entry) => sum + entry.value.length, 0),
    );
  }
}

test('random writes, snapshots, subscriptions, compactions and outages: all readers observe the true history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(5000, 50_000, 1_000_000),
      fc.array(step, { minLength: 5, maxLength: 60 }),
      fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
      async (windowBytes, steps, waits) => {
        const play = new Play(windowBytes);
        await play.cache.ready;
        try {
          for (const [i, step] of steps.entries()) {
            await play.step(step);
            if (waits[i] === true) await play.cache.waitFor(play.changes.at(-1)?.revision ?? 0, Infinity);
          }
          await play.cache.waitFor(play.changes.at(-1)?.revision ?? 0, Infinity);
          play.snapshots.push({
            scope: '/registry/',
            digit: undefined,
            snapshot: play.cache.snapshot('/registry/'),
          });
          await play.readIndexed();
          play.compare();
        } finally {
          await play.cache.close();
        }
      },
    ),
    { numRuns: 200 },
  );
}, 120_000);
