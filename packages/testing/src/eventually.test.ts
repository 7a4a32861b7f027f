import { expect, test } from '@jest/globals';
import { eventually } from './eventually.ts';

test('returns the first result that does not throw', async () => {
  let tries = 0;
  const result = await eventually(() => {
    tries += 1;
    if (tries < 4) throw new Error('not yet');
    return tries;
  });
  expect(result).toBe(4);
});

test('throws the last failure after the timeout', async () => {
  const failure = new Error('still wrong');
  await expect(eventually(() => Promise.reject(failure), { timeout: 20 })).rejects.toMatchObject({
    message: expect.stringContaining('still wrong'),
    cause: failure,
  });
});
