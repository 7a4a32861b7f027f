import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { untilAborted } from './until-aborted.ts';

describe('waiting until a signal aborts', () => {
  const never = new Promise<never>(() => {});

  test('ends with the result or the error of what was waited for, and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('ends with nothing when the signal aborts, or has', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort();
    expect(await waiting).toBeUndefined();
    expect(await untilAborted(never, controller.signal)).toBeUndefined();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('a failure that comes after the abort is nobody’s, not an unhandled one', async () => {
    const controller = new AbortController();
    const late = Promise.withResolvers<never>();
    const waiting = untilAborted(late.promise, controller.signal);
    controller.abort();
    await waiting;
    late.reject(new Error('too late'));
    await expect(late.promise).rejects.toThrow('too late');
  });
});
