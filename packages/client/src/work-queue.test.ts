import { describe, expect, test } from '@jest/globals';
import { WorkQueue, type QueueClock } from './work-queue.ts';

class ManualClock implements QueueClock {
  readonly timers: { callback: () => void; milliseconds: number; cancelled: boolean }[] = [];
  setTimeout(callback: () => void, milliseconds: number): { cancel(): void } {
    const timer = { callback, milliseconds, cancelled: false };
    this.timers.push(timer);
    return { cancel: () => void (timer.cancelled = true) };
  }
  fire(): number[] {
    const due = this.timers.splice(0).filter(({ cancelled }) => !cancelled);
    for (const { callback } of due) callback();
    return due.map(({ milliseconds }) => milliseconds);
  }
}

const make = (): { queue: WorkQueue; clock: ManualClock } => {
  const clock = new ManualClock();
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

  test('failures are delayed twice as long each time, up to the limit, until forgotten', () => {
    const { queue, clock } = make();
    const delays: number[] = [];
    for (let i = 0; i < 4; i++) {
      queue.addRateLimited('a');
      delays.push(...clock.fire());
    }
    queue.forget('a');
    queue.addRateLimited('a');
    delays.push(...clock.fire());
    expect(delays).toEqual([10, 20, 40, 50, 10]);
  });

  test('stopping ends waiting and drops what is left', async () => {
    const { queue, clock } = make();
    const waiting = queue.get();
    queue.addAfter('later', 10);
    queue.stop();
    expect(await waiting).toBeUndefined();
    expect(clock.fire()).toEqual([]);
    queue.add('x');
    expect(await queue.get()).toBeUndefined();
  });
});
