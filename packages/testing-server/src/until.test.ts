import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { until } from './until.ts';

test('repeats until the attempt does not throw', async () => {
  const clock = new FakeClock();
  let attempts = 0;
  const result = until(
    () => {
      attempts++;
      if (attempts < 4) throw new Error('not yet');
      return attempts;
    },
    { clock },
  );
  await clock.advance(1000);
  expect(await result).toBe(4);
});

test('throws the last failure after the timeout, and the reason of the signal', async () => {
  const clock = new FakeClock();
  const never = (): never => {
    throw new Error('no such thing');
  };
  const late = expect(until(never, { clock, timeoutMs: 500 })).rejects.toThrow('timed out after 500 ms: no such thing');
  await clock.advance(1000);
  await late;
  const abort = new AbortController();
  const stopped = expect(until(never, { clock, signal: abort.signal })).rejects.toThrow('stopped');
  abort.abort(new Error('stopped'));
  await clock.advance(1000);
  await stopped;
});
