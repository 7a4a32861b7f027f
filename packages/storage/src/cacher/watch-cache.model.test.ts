/* oxlint-disable jest/no-standalone-expect, jest/expect-expect -- the class that plays the history expects */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
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
  | { readonly do: 'snapshot' | 'subscribe'; readonly scope: string; readonly age: number }
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
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), index: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), age }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('interrupt' as const, 'lose' as const) }) },
);

interface Change {
  readonly key: string;
  readonly text: string | undefined;
  readonly revision: number;
}

interface Subscriber {
  readonly scope: string;
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
  readonly snapshots: { scope: string; snapshot: CacheSnapshot }[] = [];
  readonly subscribers: Subscriber[] = [];

  constructor(windowBytes: number) {
    this.cache = openWatchCache(
      { windowBytes, pageSize: 3 },
      { storage: this.backend, clock: this.clock, onError: () => undefined },
    );
  }

  stateAt(revision: number, scope: string): string[] {
    const state = new Map<string, string>();
    for (const change of this.changes) {
      if (change.revision > revision || !inScope(scope, change.key)) continue;
      if (change.text === undefined) state.delete(change.key);
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
        this.snapshots.push({ scope: step.scope, snapshot: cache.snapshot(step.scope, revision) });
      });
    else if (step.do === 'subscribe') this.#inWindow(step.age, (revision) => this.#subscribe(step.scope, revision));
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

  #subscribe(scope: string, after: number): void {
    const subscriber: Subscriber = { scope, after, events: [], until: Infinity, stop: () => undefined };
    subscriber.stop = this.cache.subscribe({
      scope,
      after,
      onEvent: ({ current, previous, revision }) => {
        const key = (current ?? previous)?.key ?? '';
        const text = previous?.value.toString();
        const before = this.changes.findLast((change) => change.key === key && change.revision < revision);
        // The object before the change is right too.
        expect(text).toBe(before?.text);
        subscriber.events.push({ key, text: current?.value.toString(), revision });
      },
      onEnd: () => (subscriber.until = subscriber.events.at(-1)?.revision ?? after),
    });
    this.subscribers.push(subscriber);
  }

  #unsubscribe(subscriber: Subscriber | undefined): void {
    if (subscriber === undefined) return;
    subscriber.stop();
    subscriber.until = Math.min(subscriber.until, this.cache.revision);
  }

  compare(): void {
    for (const { scope, snapshot } of this.snapshots) {
      const expected = this.stateAt(snapshot.revision, scope);
      const entries = snapshot.entries(undefined, Infinity);
      expect(entries.map((entry) => `${entry.key}@${entry.revision}=${entry.value.toString()}`)).toEqual(expected);
      expect(snapshot.countFrom(scope)).toBe(expected.length);
    }
    for (const { scope, after, until, events } of this.subscribers) {
      const entitled = (change: Change): boolean =>
        change.revision > after && change.revision <= until && inScope(scope, change.key);
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
          play.snapshots.push({ scope: '/registry/', snapshot: play.cache.snapshot('/registry/') });
          play.compare();
        } finally {
          await play.cache.close();
        }
      },
    ),
    { numRuns: 200 },
  );
}, 120_000);
