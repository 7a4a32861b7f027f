import { expect, test } from '@jest/globals';
import { timeSlices } from '@multiplane/component-base';
import { turnsDuring } from './turns-during.ts';

/** Work of a few microseconds. */
async function passes(count: number): Promise<string> {
  const slices = timeSlices();
  for (let pass = 0; pass < count; pass++) if (slices.isExceeded) await slices.yield();
  return 'done';
}

test('counts the turns of work that yields by its passes, on a machine of any speed', async () => {
  const { turns, result } = await turnsDuring(() => passes(1_000));
  expect(result).toBe('done');
  expect(turns).toBeGreaterThan(100);
});

test('work that does not yield takes no turn', async () => {
  expect(await turnsDuring(async () => 'done')).toEqual({ turns: 0, result: 'done' });
});

test('the clock is as before afterwards, when the work fails, too', async () => {
  await expect(turnsDuring(async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(Object.hasOwn(performance, 'now')).toBe(false);
});
