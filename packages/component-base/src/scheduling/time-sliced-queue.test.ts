import { describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { EventLoopScheduler } from './event-loop-scheduler.ts';
import { TimeSlicedQueue } from './time-sliced-queue.ts';
import type { TimeSlices } from './time-slices.ts';
import { yieldToEventLoop } from './yield-to-event-loop.ts';

/** An event loop under the test's control: an iteration runs the callbacks that were scheduled before it. */
function fakeLoop(sliceMs = 10): {
  queue: TimeSlicedQueue;
  other: TimeSlicedQueue;
  iterate: () => void;
  /** {@link iterate}, with the microtasks of each callback. */
  iterateWithMicrotasks: () => Promise<void>;
  work: (ms: number) => void;
} {
  let now = 0;
  const immediates: (() => void)[] = [];
  const scheduler = new EventLoopScheduler({ now: () => now, schedule: (run) => immediates.push(run) }, { sliceMs });
  return {
    queue: new TimeSlicedQueue(scheduler),
    other: new TimeSlicedQueue(scheduler),
    iterate: () => {
      for (const run of immediates.splice(0)) run();
    },
    iterateWithMicrotasks: async () => {
      for (const run of immediates.splice(0)) {
        run();
        await eventLoopIdle();
      }
    },
    work: (ms) => {
      now += ms;
    },
  };
}

describe('a time-sliced queue', () => {
  test('runs few callbacks in the next iteration', () => {
    const { queue, iterate } = fakeLoop();
    const seen: number[] = [];
    for (let n = 0; n < 60; n++) queue.add(() => seen.push(n));
    expect(seen).toEqual([]);
    iterate();
    expect(seen).toHaveLength(60);
    expect(queue.isEmpty).toBe(true);
  });

  test('runs many callbacks in order, as many per iteration as fit into the slice', () => {
    const { queue, iterate, work } = fakeLoop();
    const seen: number[] = [];
    for (let n = 0; n < 1_000; n++) {
      queue.add(() => {
        seen.push(n);
        work(1);
      });
    }
    const perIteration: number[] = [];
    for (let last = 0; seen.length < 1_000; last = seen.length) {
      iterate();
      perIteration.push(seen.length - last);
    }
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(Math.max(...perIteration)).toBe(10);
    expect(Math.min(...perIteration)).toBe(10);
  });

  test('lets loops that yield together resume one after the other, and an endless one does not starve them', () => {
    const { queue, iterate, work } = fakeLoop();
    const done = new Map<string, number>();
    const begin = (name: string, slices: number): void => {
      queue.add(() => {
        work(8);
        done.set(name, (done.get(name) ?? 0) + 1);
        if (slices > 1) begin(name, slices - 1);
      });
    };
    begin('endless', Number.POSITIVE_INFINITY);
    for (let n = 0; n < 20; n++) begin(`loop ${n}`, 3);
    let last = 0;
    for (let iteration = 0; iteration < 100; iteration++) {
      iterate();
      const all = [...done.values()].reduce((sum, count) => sum + count, 0);
      expect(all - last).toBeLessThanOrEqual(2);
      last = all;
    }
    for (let n = 0; n < 20; n++) expect(done.get(`loop ${n}`)).toBe(3);
    expect(done.get('endless')).toBeGreaterThan(40);
  });

  test('gives a callback that exceeds the slice an iteration of its own', () => {
    const { queue, iterate, work } = fakeLoop();
    const seen: string[] = [];
    queue.add(() => {
      seen.push('long');
      work(500);
    });
    queue.add(() => seen.push('next'));
    iterate();
    expect(seen).toEqual(['long']);
    iterate();
    iterate();
    expect(seen).toEqual(['long', 'next']);
  });

  test('shares the slice with other queues, and each starts one callback per iteration', () => {
    const { queue, other, iterate, work } = fakeLoop();
    const perIteration = { queue: 0, other: 0 };
    for (let n = 0; n < 100; n++) {
      queue.add(() => {
        perIteration.queue++;
        work(1);
      });
    }
    for (let n = 0; n < 3; n++) {
      other.add(() => {
        perIteration.other++;
        work(4);
      });
    }
    iterate();
    expect(perIteration).toEqual({ queue: 10, other: 1 });
    iterate();
    iterate();
    expect(perIteration).toEqual({ queue: 30, other: 3 });
    iterate();
    expect(perIteration).toEqual({ queue: 40, other: 3 });
  });

  test('ends the slice of a resumed computation with that of the iteration', async () => {
    const { queue, iterateWithMicrotasks, work } = fakeLoop();
    const order: string[] = [];
    const long = async (name: string, slices: TimeSlices): Promise<void> => {
      for (let n = 0; n < 12; n++) {
        order.push(name);
        work(1);
        if (slices.isExceeded) await slices.yield();
      }
    };
    // Half a slice each, before the first iteration.
    const both = [long('a', queue.timeSlices()), long('b', queue.timeSlices())];
    expect(order.join('')).toBe('aaaaabbbbb');
    order.length = 0;
    await iterateWithMicrotasks();
    expect(order.join('')).toBe('aaaaaaabbb');
    await iterateWithMicrotasks();
    expect(order.join('')).toBe('aaaaaaabbbbbbb');
    await Promise.all(both);
  });

  test('has time left from the start of the slice until it is used up', () => {
    const { queue, iterate, work } = fakeLoop(2);
    const left: boolean[] = [];
    const look = (): void => void left.push(queue.hasTimeLeft);
    look();
    queue.add(() => {
      look();
      work(1);
      look();
      work(1);
      look();
    });
    iterate();
    look();
    iterate();
    look();
    expect(left).toEqual([false, true, true, false, false, false]);
  });
});

test('yieldToEventLoop resolves in a later iteration', async () => {
  const order: string[] = [];
  const yielding = yieldToEventLoop().then(() => order.push('later'));
  await Promise.resolve();
  order.push('now');
  await yielding;
  expect(order).toEqual(['now', 'later']);
});
