import { describe, expect, test } from '@jest/globals';
import { inTimeSlices, yieldIfSliceExceeded } from './time-slices.ts';

const large = 64 * 1024;

/** Counts its passes, and calls `during` in each. */
function* passes(count: number, done: number[], during: (pass: number) => void): Generator<void, string> {
  for (let pass = 0; pass < count; pass++) {
    done.push(pass);
    during(pass);
    yield;
  }
  return 'done';
}

describe('work in time slices', () => {
  test('ends before the next pass once the request is aborted', async () => {
    const controller = new AbortController();
    const done: number[] = [];
    const work = inTimeSlices(
      passes(10, done, (pass) => pass === 2 && controller.abort(new Error('client disconnected'))),
      large,
      controller,
    );
    await expect(work).rejects.toThrow('client disconnected');
    expect(done).toEqual([0, 1, 2]);
    await expect(yieldIfSliceExceeded(large, controller)).rejects.toThrow('client disconnected');
  });

  test('never reads the signal of a small request, which would create it', () => {
    const request = {
      get signal(): AbortSignal {
        throw new Error('the signal was read');
      },
    };
    expect(
      inTimeSlices(
        passes(3, [], () => undefined),
        large - 1,
        request,
      ),
    ).toBe('done');
  });
});
