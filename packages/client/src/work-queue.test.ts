import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/component-base';
import { WorkQueue } from './work-queue.ts';

const make = (): { queue: WorkQueue; clock: FakeClock } => {
  const clock = new FakeClock();
  return { queue: new WorkQueue({ baseDelayMs: 10, maxDelayMs: 50 }, { clock }), clock };
};

describe('work queue', () => {
  test('gives a key out once however often it was added', async () => {
    const { queue } = make();
    queue.add('a');
    queue.add('a');
    expect(await queue.get()).toBe('a');
    expect(queue.length).toBe(0);
  });

  test('a key added during its work comes back only when the work is done', async () => {
    const { queue } = make();
    queue.add('a');
    await queue.get();
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await queue.get()).toBe('a');
  });

  test('who waits gets the key that is added next', async () => {
    const { queue } = make();
    const waiting = queue.get();
    queue.add('late');
    expect(await waiting).toBe('late');
    queue.add('late');
    queue.done('late');
    expect(await queue.get()).toBe('late');
  });

  test('failures are delayed twice as long each time, up to the limit, until forgotten', async () => {
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

  test('of two delays of a key the shorter one counts, whichever was asked for first', async () => {
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

  describe('what can wait', () => {
    /** A queue with spare turns that are given by hand, and whose first turn is always long enough for one key. */
    const lanes = () => {
      const turns: (() => void)[] = [];
      const spare = { hasTime: false, add: (run: () => void): void => void turns.push(run) };
      const queue = new WorkQueue({}, { clock: new FakeClock(), turns: spare });
      const given: string[] = [];
      const worker = async (): Promise<void> => {
        given.push((await queue.get()) as string);
      };
      const turn = async (): Promise<void> => {
        for (const run of turns.splice(0)) run();
        await Promise.resolve();
      };
      return { queue, spare, given, worker, turn, asked: () => turns.length };
    };

    test('is given out when nothing else waits, in the order it came, one key a turn', async () => {
      const { queue, given, worker, turn } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      queue.add('new');
      expect(queue.length).toBe(3);
      const working = [worker(), worker(), worker()];
      await Promise.resolve();
      expect(given).toEqual(['new']);
      await turn();
      expect(given).toEqual(['new', 'settled 1']);
      await turn();
      expect(given).toEqual(['new', 'settled 1', 'settled 2']);
      await Promise.all(working);
      expect(queue.length).toBe(0);
    });

    test('goes on in a turn that has time left', async () => {
      const { queue, spare, given, worker, asked } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      spare.hasTime = true;
      await worker();
      queue.add('new');
      await worker();
      await worker();
      expect(given).toEqual(['settled 1', 'new', 'settled 2']);
      expect(asked()).toBe(0);
    });

    test('waits no longer when something happens to it', async () => {
      const { queue, given, worker } = lanes();
      for (const key of ['settled 1', 'settled 2']) queue.add(key, true);
      queue.add('settled 2');
      queue.add('settled 2', true);
      await worker();
      expect(given).toEqual(['settled 2']);
      expect(queue.length).toBe(1);
    });

    test('comes back after the work like any other when it is under way', async () => {
      const { queue, given, worker } = lanes();
      queue.add('a');
      await worker();
      queue.add('a', true);
      expect(queue.length).toBe(0);
      queue.done('a');
      await worker();
      expect(given).toEqual(['a', 'a']);
    });

    test('is not starved by others', async () => {
      const { queue, given, worker } = lanes();
      queue.add('settled', true);
      for (let n = 0; n < 100; n++) queue.add(`new ${n}`);
      for (let n = 0; n < 50; n++) await worker();
      expect(given).toContain('settled');
      expect(given.filter((key) => key.startsWith('new'))).toHaveLength(49);
    });

    test('is dropped by a stop, with the turn that was asked for', async () => {
      const { queue, worker, turn, given } = lanes();
      const working = worker();
      queue.add('settled', true);
      queue.stop();
      await turn();
      await working;
      expect(given).toEqual([undefined]);
      expect(queue.idle).toBe(true);
    });
  });

  test('stopping ends waiting and drops what is left', async () => {
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
