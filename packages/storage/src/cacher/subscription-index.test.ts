import { describe, expect, test } from '@jest/globals';
import type { CacheEvent } from '../watch-cache-interface.ts';
import { CachedEntry } from './cached-entry.ts';
import { EventWindow } from './event-window.ts';
import { Subscription, SubscriptionIndex } from './subscription-index.ts';

function makeIndex(): {
  index: SubscriptionIndex;
  failures: unknown[];
  add: (scope: string, onEvent: (event: CacheEvent) => void, after?: number) => Subscription;
  send: (key: string, revision?: number) => void;
} {
  const failures: unknown[] = [];
  const window = new EventWindow({ maxBytes: 1e9, minAgeSeconds: 0 }, () => undefined);
  const index = new SubscriptionIndex((_, error) => failures.push(error));
  return {
    index,
    failures,
    add(scope, onEvent, after = 0) {
      const subscription = new Subscription({ scope, after, onEvent, onEnd: () => undefined }, window.nextSequence);
      index.add(subscription);
      return subscription;
    },
    send(key, revision = window.nextSequence + 1) {
      index.dispatch(window.append(new CachedEntry(key, revision, 0), undefined, revision, 0));
    },
  };
}

describe('subscription index', () => {
  test('an event is delivered to every scope that contains its key, and to no other', () => {
    const { add, send } = makeIndex();
    const seen: string[] = [];
    const scopes = [
      '',
      '/',
      '/registry/',
      '/registry/core/',
      '/registry/core/maps/',
      '/registry/core/maps/a/',
      '/registry/core/maps/a/x',
    ];
    for (const scope of [
      ...scopes,
      '/registry/core/maps/a',
      '/registry/core/maps/ab/',
      '/registry/core/maps/a/x/',
      'registry/',
    ]) {
      add(scope, () => seen.push(scope));
    }
    send('/registry/core/maps/a/x');
    expect(seen.toSorted()).toEqual(scopes);
    seen.length = 0;
    send('/registry/core/maps/a/xy');
    expect(seen.toSorted()).toEqual(scopes.slice(0, -1));
  });

  test('a subscriber that throws is removed, the others continue', () => {
    const { index, add, send, failures } = makeIndex();
    let others = 0;
    add('/a/', () => others++);
    const broken = add('/a/', () => {
      throw new Error('bug');
    });
    add('/a/', () => others++);
    send('/a/1');
    send('/a/2');
    expect(others).toBe(4);
    expect(failures).toEqual([new Error('bug')]);
    expect(broken.active).toBe(false);
    expect(index.size).toBe(2);
  });

  test('subscribers may end themselves and each other during dispatch', () => {
    const { index, add, send } = makeIndex();
    const seen: string[] = [];
    const first = add('/a/', () => {
      seen.push('first');
      index.remove(first);
      index.remove(second);
    });
    const second = add('/a/', () => seen.push('second'));
    add('/a/', () => seen.push('third'));
    send('/a/1');
    send('/a/2');
    expect(seen).toEqual(['first', 'third', 'third']);
    index.remove(second);
    expect(index.size).toBe(1);
  });

  test('a subscriber that is added during dispatch does not get that event', () => {
    const { add, send } = makeIndex();
    const seen: string[] = [];
    let joined = false;
    add('/a/', () => {
      if (joined) return;
      joined = true;
      add('/a/', (event) => seen.push(`late ${event.revision}`));
    });
    send('/a/1', 1);
    send('/a/1', 2);
    expect(seen).toEqual(['late 2']);
  });

  test('a start at a future revision delivers nothing before it', () => {
    const { add, send } = makeIndex();
    const seen: number[] = [];
    add('/a/', (event) => seen.push(event.revision), 5);
    for (let revision = 1; revision <= 7; revision++) send('/a/1', revision);
    expect(seen).toEqual([6, 7]);
  });

  test('subscriptions to other scopes add no cost to an event', () => {
    const { index, add, send } = makeIndex();
    const subscriptions = Array.from({ length: 10_000 }, (_, i) => add(`/a/${i}/`, () => expect(i).toBe(7)));
    send('/a/7/x');
    for (const subscription of subscriptions) index.remove(subscription);
    expect(index.size).toBe(0);
    expect.assertions(2);
  });

  test('clear ends all subscriptions', () => {
    const { index, add, send } = makeIndex();
    let seen = 0;
    add('/a/', () => seen++);
    add('/a/1', () => seen++);
    expect(index.clear()).toHaveLength(2);
    send('/a/1');
    expect([seen, index.size]).toEqual([0, 0]);
  });
});
