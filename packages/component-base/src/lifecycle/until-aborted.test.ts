import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { untilAborted } from './until-aborted.ts';

describe('waiting until a signal aborts', () => {
  const never = new Promise<never>(() => {});

  test('settles with the promise and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('resolves to undefined when the signal aborts or has aborted', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort();
    expect(await waiting).toBeUndefined();
    expect(await untilAborted(never, controller.signal)).toBeUndefined();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('a rejection after the abort is not unhandled', async () => {
    const controller = new AbortController();
    const late = Promise.withResolvers<never>();
    const waiting = untilAborted(late.promise, controller.signal);
    controller.abort();
    await waiting;
    late.reject(new Error('too late'));
    await expect(late.promise).rejects.toThrow('too late');
  });
});
