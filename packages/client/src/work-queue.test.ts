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
