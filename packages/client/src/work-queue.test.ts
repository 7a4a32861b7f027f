import { describe, expect, test } from '@jest/globals';
import { WorkQueue } from './work-queue.ts';
import { FakeClock } from '@multiplane/testing';

const make = (): { queue: WorkQueue; clock: FakeClock } => {
  const clock = new FakeClock();
  return { queue: new WorkQueue({ baseDelayMs: 10, maxDelayMs: 50 }, { clock }), clock };
};

describe('work queue', () => {
  test('hands out a key once however often it was added', async () => {
    const { queue } = make();
    queue.add('a');
    queue.add('a');
    expect(await queue.get()).toBe('a');
    expect(queue.length).toBe(0);
  });

  test('requeues a key that is added while in progress once it is done', async () => {
    const { queue } = make();
    queue.add('a');
    await queue.get();
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await queue.get()).toBe('a');
  });

  test('a waiting get returns the next key that is added', async () => {
    const { queue } = make();
    const waiting = queue.get();
    queue.add('late');
    expect(await waiting).toBe('late');
    queue.add('late');
    queue.done('late');
    expect(await queue.get()).toBe('late');
  });

  test('doubles the delay with each failure, up to the maximum, until forget', async () => {
    const { queue, clock } = make();
    const delayOf = async (): Promise<number> => {
      for (let waited = 0; ; waited += 10) {
        if (queue.length > 0) {
          queue.done((await queue.get()) as string);
          return waited;
        }
        await clock.advance(10);
      }
    };
    const delays: number[] = [];
    for (let i = 0; i < 4; i++) {
      queue.addRateLimited('a');
      delays.push(await delayOf());
    }
    queue.forget('a');
    queue.addRateLimited('a');
    delays.push(await delayOf());
    expect(delays).toEqual([10, 20, 40, 50, 10]);
  });

  test('the shorter of two delays of a key counts, in either order', async () => {
    const { queue, clock } = make();
    queue.addAfter('long first', 5_000);
    queue.addAfter('long first', 100);
    queue.addAfter('short first', 100);
    queue.addAfter('short first', 5_000);
    await clock.advance(100);
    expect(new Set([await queue.get(), await queue.get()])).toEqual(new Set(['long first', 'short first']));
    queue.done('long first');
    queue.done('short first');
    await clock.advance(10_000);
    expect(queue.length).toBe(0);
    expect(clock.timers).toBe(0);
  });

  describe('a key of low priority', () => {
    /** A queue whose low-priority slices are run by the test; each is long enough for one key. */
    const lanes = () => {
      const scheduled: (() => void)[] = [];
      const slices = { hasTimeLeft: false, add: (run: () => void): void => void scheduled.push(run) };
      const queue = new WorkQueue({}, { clock: new FakeClock(), lowPriorityQueue: slices });
      const given: string[] = [];
      const worker = async (): Promise<void> => {
        given.push((await queue.get()) as string);
      };
      const runSlice = async (): Promise<void> => {
        for (const run of scheduled.splice(0)) run();
        await Promise.resolve();
      };
      return { queue, slices, given, worker, runSlice, requested: () => scheduled.length };
    };

    test('is handed out when no other is queued, in FIFO order, one per slice', async () => {
      const { queue, given, worker, runSlice } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      queue.add('new');
      expect(queue.length).toBe(3);
      const working = [worker(), worker(), worker()];
      await Promise.resolve();
      expect(given).toEqual(['new']);
      await runSlice();
      expect(given).toEqual(['new', 'settled 1']);
      await runSlice();
      expect(given).toEqual(['new', 'settled 1', 'settled 2']);
      await Promise.all(working);
      expect(queue.length).toBe(0);
    });

    test('is handed out without a new slice while the current one has time left', async () => {
      const { queue, slices, given, worker, requested } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      slices.hasTimeLeft = true;
      await worker();
      queue.add('new');
      await worker();
      await worker();
      expect(given).toEqual(['settled 1', 'new', 'settled 2']);
      expect(requested()).toBe(0);
    });

    test('gets normal priority when it is added again without low priority', async () => {
      const { queue, given, worker } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      queue.add('settled 2');
      queue.add('settled 2', true);
      await worker();
      expect(given).toEqual(['settled 2']);
      expect(queue.length).toBe(1);
    });

    test('is requeued like any other when it is added while in progress', async () => {
      const { queue, given, worker } = lanes();
      queue.add('a');
      await worker();
      queue.add('a', true);
      expect(queue.length).toBe(0);
      queue.done('a');
      await worker();
      expect(given).toEqual(['a', 'a']);
    });

    test('is not starved by keys of normal priority', async () => {
      const { queue, given, worker } = lanes();
      queue.add('settled', true);
      for (let n = 0; n < 100; n++) queue.add(`new ${n}`);
      for (let n = 0; n < 50; n++) await worker();
      expect(given).toContain('settled');
      expect(given.filter((key) => key.startsWith('new'))).toHaveLength(49);
    });

    test('is dropped by a stop, with the slice that was requested', async () => {
      const { queue, worker, runSlice, given } = lanes();
      const working = worker();
      queue.add('settled', true);
      queue.stop();
      await runSlice();
      await working;
      expect(given).toEqual([undefined]);
      expect(queue.idle).toBe(true);
    });
  });

  test('stop ends waiting gets and drops queued keys', async () => {
    const { queue, clock } = make();
    const waiting = queue.get();
    queue.addAfter('later', 10);
    queue.stop();
    expect(await waiting).toBeUndefined();
    expect(clock.timers).toBe(0);
    queue.add('x');
    expect(await queue.get()).toBeUndefined();
  });
});
