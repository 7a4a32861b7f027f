import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { TimeSlicedQueue, timeSlices, yieldToEventLoop } from '@multiplane/component-base';
import { advanceUntilIdle } from './advance-until-idle.ts';
import { FakeClock } from './fake-clock.ts';

const iterations = 300;

test('work that yields however often ends before time goes on', async () => {
  const clock = new FakeClock();
  const ends: number[] = [];
  clock.after(10, () => {
    void (async () => {
      for (let n = 0; n < iterations; n++) await yieldToEventLoop();
      ends.push(clock.monotonic());
    })();
  });
  clock.after(20, () => ends.push(clock.monotonic()));
  await clock.advance(30);
  expect(ends).toEqual([10, 20]);
});

test('file operations end before time goes on', async () => {
  const clock = new FakeClock();
  const reads: number[] = [];
  clock.after(10, () => {
    void (async () => {
      for (let n = 0; n < 20; n++) {
        await readFile(import.meta.filename);
        reads.push(clock.monotonic());
      }
    })();
  });
  await clock.advance(30);
  expect(reads).toEqual(Array<number>(20).fill(10));
});

test('slices of real time, which a slow machine exceeds at each pass, change nothing', async () => {
  const clock = new FakeClock();
  let done = 0;
  clock.after(10, () => {
    void (async () => {
      const slices = timeSlices();
      for (let n = 0; n < iterations; n++) {
        await slices.yield();
        done++;
      }
    })();
  });
  await clock.advance(10);
  expect(done).toBe(iterations);
});

test('slices of the fake scheduler are exceeded only when the clock advances', async () => {
  const clock = new FakeClock();
  const slices = new TimeSlicedQueue(clock.scheduler).timeSlices();
  let isDone = false;
  void Promise.resolve().then(() => {
    while (!isDone && slices.isExceeded) isDone = false;
    isDone = true;
  });
  await clock.advance(0);
  expect(isDone).toBe(true);
  expect(slices.isExceeded).toBe(false);
  await clock.advance(clock.scheduler.sliceMs);
  expect(slices.isExceeded).toBe(true);
});

test('advanceUntilIdle waits for controllers whose work takes real time, between timers, too', async () => {
  const clock = new FakeClock();
  const queue = { busy: false };
  const ends: number[] = [];
  // The answer of another thread: the event loop is idle meanwhile.
  const request = (): void => {
    queue.busy = true;
    void crypto.subtle.digest('SHA-256', Buffer.alloc(1_000_000)).then(() => {
      queue.busy = false;
      ends.push(clock.monotonic());
    });
  };
  clock.after(10, request);
  clock.after(20, request);
  await advanceUntilIdle(clock, 30, [{ queue }]);
  expect(ends).toEqual([10, 20]);
});

test('a loop without end is reported, not waited for', async () => {
  const clock = new FakeClock();
  const end = new AbortController();
  void (async () => {
    while (!end.signal.aborted) await yieldToEventLoop();
  })();
  await expect(clock.advance(1)).rejects.toThrow('the event loop does not become idle');
  end.abort();
});
