import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { BackedWatchCache } from '../../src/cacher/watch-cache.ts';
import type { CacheIndexDefinition } from '../../src/cache-indexes.ts';
import type { CacheSnapshot } from '../../src/watch-cache-interface.ts';
import { bytes, put, remove } from './subject.ts';

const widgets = '/registry/example.dev/widgets/id1/';
const gadgets = '/registry/example.dev/gadgets/id1/';
const foreign = '/registry/example.dev/widgets/id2/';

/** Values are `<owner> <rest>`; the index is by owner. */
const byOwner: CacheIndexDefinition = {
  identity: 'id1',
  name: 'owner',
  valueOf: ({ value }) => /^\S+/.exec(value.toString())?.[0],
};
const where = (value: string): { readonly name: string; readonly value: string } => ({ name: 'owner', value });

const namesIn = (snapshot: CacheSnapshot): string[] =>
  snapshot.entries(undefined, Infinity).map(({ key, value }) => `${key.split('/').at(-1) ?? ''}=${value.toString()}`);

interface Followed {
  readonly events: string[];
  readonly stop: () => void;
}

/** The equality indexes of the watch cache, over any backend. `makeCache` returns a cache that is ready. */
export function cacheIndexConformance(name: string, makeCache: () => Promise<BackedWatchCache>): void {
  describe(`indexes of the watch cache: ${name}`, () => {
    let cache: BackedWatchCache;
    beforeEach(async () => {
      cache = await makeCache();
    });
    afterEach(async () => {
      await cache.close();
    });

    const caughtUp = async (revision: number): Promise<number> => {
      await cache.waitFor(revision, 10_000);
      return revision;
    };
    const write = async (key: string, text: string): Promise<number> => await caughtUp(await put(cache, key, text));
    const drop = async (key: string): Promise<number> => await caughtUp(await remove(cache, key));
    const build = async (): Promise<void> => {
      cache.indexes.add(byOwner);
      await cache.indexes.find(widgets, 'owner')?.built;
      expect(cache.indexes.find(widgets, 'owner')?.isBuilt).toBe(true);
    };
    const follow = (scope: string, owner: string, after: number): Followed => {
      const events: string[] = [];
      const stop = cache.subscribe({
        scope,
        after,
        where: where(owner),
        onEvent: ({ current, previous, revision }) =>
          void events.push(`${revision} ${previous?.value.toString() ?? '-'}>${current?.value.toString() ?? '-'}`),
        onEnd: () => events.push('end'),
      });
      return { events, stop };
    };
    const snapshot = (scope: string, owner: string, revision?: number): CacheSnapshot =>
      cache.snapshot(scope, revision, where(owner));

    test('a snapshot has the objects of one value, of all resources of the identity, in any range', async () => {
      await write(`${widgets}c1/ns/a`, 'x 1');
      await write(`${widgets}c2/b`, 'x 2');
      await write(`${gadgets}c1/c`, 'x 3');
      await write(`${foreign}c1/d`, 'x 4');
      await build();
      await write(`${widgets}c1/ns/e`, 'y 5');
      await write(`${widgets}c3/f`, 'x 6');
      expect(namesIn(snapshot(widgets, 'x'))).toEqual(['a=x 1', 'b=x 2', 'f=x 6']);
      expect(namesIn(snapshot(`${widgets}c1/`, 'x'))).toEqual(['a=x 1']);
      expect(namesIn(snapshot(gadgets, 'x'))).toEqual(['c=x 3']);
      expect(namesIn(snapshot(widgets, 'y'))).toEqual(['e=y 5']);
      expect(namesIn(snapshot(widgets, 'z'))).toEqual([]);
      expect(snapshot(widgets, 'z').isNarrowed).toBe(true);
      expect(snapshot(foreign, 'x').isNarrowed).not.toBe(true);
      expect(snapshot(widgets, 'x').entries(`${widgets}c2/b`, 1)).toHaveLength(1);
      expect(snapshot(widgets, 'x').countFrom(`${widgets}c2/b`)).toBe(2);
    });

    test('counts the objects of a value below a prefix', async () => {
      cache.indexes.add(byOwner);
      const index = cache.indexes.find(widgets, 'owner');
      expect(index?.count('x', widgets)).toBeUndefined();
      await build();
      await write(`${widgets}c1/a`, 'x 1');
      await write(`${widgets}c2/b`, 'x 2');
      await write(`${gadgets}c1/c`, 'x 3');
      expect([index?.count('x', widgets), index?.count('x', `${widgets}c1/`), index?.count('y', widgets)]).toEqual([
        2, 1, 0,
      ]);
      await write(`${widgets}c1/a`, 'y 1');
      await drop(`${widgets}c2/b`);
      expect([index?.count('x', widgets), index?.count('y', widgets)]).toEqual([0, 1]);
      expect(cache.statistics).toMatchObject({ indexes: 1, indexedObjects: 2 });
    });

    test('a change of the value is an event for the value before and the value after, and for no other', async () => {
      await build();
      const start = await write(`${widgets}c1/a`, 'x 1');
      const [x, y, z] = ['x', 'y', 'z'].map((owner) => follow(widgets, owner, start));
      const other = follow(`${widgets}c2/`, 'x', start);
      const moved = await write(`${widgets}c1/a`, 'y 2');
      const kept = await write(`${widgets}c1/a`, 'y 3');
      const gone = await drop(`${widgets}c1/a`);
      expect(x?.events).toEqual([`${moved} x 1>y 2`]);
      expect(y?.events).toEqual([`${moved} x 1>y 2`, `${kept} y 2>y 3`, `${gone} y 3>-`]);
      expect([z?.events, other.events]).toEqual([[], []]);
      x?.stop();
      await write(`${widgets}c1/a`, 'x 4');
      expect(x?.events).toHaveLength(1);
      expect(y?.events).toHaveLength(3);
    });

    test('a subscription that starts at an older revision, and a snapshot of it, have the true history', async () => {
      const revisions = [await write(`${widgets}c1/a`, 'x 1')];
      const states: string[][] = [['a=x 1']];
      const step = async (revision: Promise<number>, state: string[]): Promise<void> => {
        revisions.push(await revision);
        states.push(state);
      };
      await step(write(`${widgets}c1/b`, 'y 1'), ['a=x 1']);
      await step(write(`${widgets}c1/b`, 'x 2'), ['a=x 1', 'b=x 2']);
      // One half of the history is before the index, the other after it.
      await build();
      await step(write(`${widgets}c1/a`, 'y 2'), ['b=x 2']);
      await step(drop(`${widgets}c1/b`), []);
      await step(write(`${widgets}c1/b`, 'x 3'), ['b=x 3']);
      const whole = follow(widgets, 'x', (revisions[0] as number) - 1).events;
      expect(whole).toEqual([
        `${revisions[0]} ->x 1`,
        `${revisions[2]} y 1>x 2`,
        `${revisions[3]} x 1>y 2`,
        `${revisions[4]} x 2>-`,
        `${revisions[5]} ->x 3`,
      ]);
      for (const [i, revision] of revisions.entries()) {
        const missed = whole.filter((event) => Number(event.split(' ')[0]) > revision);
        expect(follow(widgets, 'x', revision).events).toEqual(missed);
        expect(namesIn(snapshot(widgets, 'x', revision))).toEqual(states[i]);
        // Pinned by the first, for the next page.
        expect(namesIn(snapshot(widgets, 'x', revision))).toEqual(states[i]);
      }
    });

    test('revisions before the window are refused, as without an index', async () => {
      await build();
      const first = await write(`${widgets}c1/a`, 'x 1');
      await write(`${widgets}c1/a`, 'x 2');
      const last = await write(`${widgets}c1/a`, 'y 3');
      await cache.compact(last);
      expect(() => follow(widgets, 'x', first)).toThrow(expect.objectContaining({ code: 'Compacted' }));
      expect(() => snapshot(widgets, 'x', first)).toThrow(expect.objectContaining({ code: 'Compacted' }));
      expect(namesIn(snapshot(widgets, 'y', last))).toEqual(['a=y 3']);
    });

    test('keeps nothing of a value without objects, events and subscriptions', async () => {
      await build();
      for (let i = 0; i < 20; i++) await write(`${widgets}c1/a`, `owner-${i}`);
      const { stop } = follow(widgets, 'idle', cache.revision);
      const last = await drop(`${widgets}c1/a`);
      expect(cache.statistics).toMatchObject({ indexedValues: 21, indexedEvents: 21, indexedObjects: 0 });
      await cache.compact(last);
      await eventually(() => expect(cache.statistics).toMatchObject({ indexedValues: 1, indexedEvents: 0 }));
      stop();
      expect(cache.statistics).toMatchObject({ indexedValues: 0, subscriptions: 0 });
    });

    test('subscriptions lose and repeat nothing when their index is added and removed', async () => {
      const start = await write(`${widgets}c1/a`, 'x 0');
      const early = follow(widgets, 'x', start);
      await build();
      const indexed = follow(widgets, 'x', start);
      const first = await write(`${widgets}c1/a`, 'x 1');
      await write(`${widgets}c1/b`, 'y 1');
      // An informer may do this while events are dispatched.
      const stop = cache.subscribe({
        scope: widgets,
        after: cache.revision,
        onEvent: () => cache.indexes.remove('id1', 'owner'),
        onEnd: () => undefined,
      });
      const second = await write(`${widgets}c1/a`, 'x 2');
      stop();
      expect(cache.indexes.find(widgets, 'owner')).toBeUndefined();
      const third = await write(`${widgets}c1/a`, 'x 3');
      const expected = [`${first} x 0>x 1`, `${second} x 1>x 2`, `${third} x 2>x 3`];
      expect(early.events).toEqual(expected);
      expect(indexed.events).toEqual(expected);
      expect(cache.statistics).toMatchObject({ subscriptions: 2, indexes: 0 });
      await build();
      indexed.stop();
      await write(`${widgets}c1/c`, 'y 4');
      expect(early.events).toEqual(expected);
      expect(indexed.events).toEqual(expected);
    });

    test('an object whose value cannot be read has none; the cache continues', async () => {
      const failing = {
        ...byOwner,
        valueOf: () => {
          throw new TypeError('not readable');
        },
      };
      await write(`${widgets}c1/a`, 'x 1');
      cache.indexes.add(failing);
      await cache.indexes.find(widgets, 'owner')?.built;
      await write(`${widgets}c1/b`, 'x 2');
      expect(namesIn(snapshot(widgets, 'x'))).toEqual([]);
      expect((await cache.get(`${widgets}c1/b`))?.value).toEqual(bytes('x 2'));
    });

    test('the indexes of an identity are bounded; further ones are built when others are removed', async () => {
      const named = (i: number): CacheIndexDefinition => ({ ...byOwner, name: `key-${i}` });
      for (let i = 0; i < 20; i++) cache.indexes.add(named(i));
      await cache.indexes.find(widgets, 'key-15')?.built;
      const last = cache.indexes.find(widgets, 'key-19');
      expect([cache.indexes.find(widgets, 'key-15')?.isBuilt, last?.isBuilt]).toEqual([true, false]);
      for (let i = 0; i < 4; i++) cache.indexes.remove('id1', `key-${i}`);
      await last?.built;
      expect(last?.isBuilt).toBe(true);
    });
  });
}
