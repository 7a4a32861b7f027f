// oxlint-disable tests/no-real-time-with-fake-clock -- it tests the clock of the machine, too
import { expect, jest, test } from '@jest/globals';
import { systemClock } from './clock.ts';
import { FakeClock } from '@multiplane/testing';

test('a fake clock runs callbacks in order of time, not of registration', async () => {
  const clock = new FakeClock();
  const order: string[] = [];
  clock.after(20, () => order.push('late'));
  clock.after(10, () => order.push('early'));
  await clock.advance(9);
  expect(order).toEqual([]);
  await clock.advance(11);
  expect(order).toEqual(['early', 'late']);
  expect(clock.monotonic()).toBe(20);
});

test('a loop that sleeps runs as many rounds as time allows', async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const seen: number[] = [];
  const loop = (async () => {
    for (;;) {
      await clock.sleep(10, controller.signal);
      seen.push(clock.monotonic());
    }
  })();
  await clock.advance(35);
  controller.abort(new Error('enough'));
  await expect(loop).rejects.toThrow('enough');
  expect(seen).toEqual([10, 20, 30]);
  expect(clock.timers).toBe(0);
});

test('a cancelled timer never runs', async () => {
  const clock = new FakeClock();
  const callback = jest.fn();
  clock.after(1, callback).cancel();
  await clock.advance(5);
  expect(callback).not.toHaveBeenCalled();
});

test('sleep on an aborted signal rejects with its reason', async () => {
  const reason = new Error('stopped');
  await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('an abort reason that is not an Error becomes the cause of one', async () => {
  await expect(systemClock.sleep(60_000, AbortSignal.abort('text'))).rejects.toMatchObject({ cause: 'text' });
});

test('a delay beyond the limit of setTimeout does not fire immediately', () => {
  jest.useFakeTimers();
  try {
    const callback = jest.fn();
    const fortyDays = 40 * 24 * 3600 * 1000;
    systemClock.after(fortyDays, callback);
    jest.advanceTimersByTime(fortyDays - 1);
    expect(callback).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledTimes(1);
  } finally {
    jest.useRealTimers();
  }
});
