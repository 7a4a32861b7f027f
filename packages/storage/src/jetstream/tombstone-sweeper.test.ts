import { expect, test } from '@jest/globals';
import { Interruptions } from '../interruptions.ts';
import type { StreamClient } from './stream-client.ts';
import type { StreamFloor } from './stream-floor.ts';
import { StreamSubjects } from './stream-subjects.ts';
import { TombstoneSweeper } from './tombstone-sweeper.ts';

test('sweeping that fails is told', async () => {
  const told = Promise.withResolvers<unknown>();
  const sweeper = new TombstoneSweeper(
    { intervalMs: 1, keepMs: 1 },
    {
      client: { closed: new AbortController() } as unknown as StreamClient,
      floor: { read: () => Promise.reject(new Error('not allowed')) } as unknown as StreamFloor,
      subjects: new StreamSubjects('s'),
      interruptions: new Interruptions({ onInterruption: told.resolve }),
      now: () => 0,
    },
  );
  expect(await told.promise).toEqual(new Error('not allowed'));
  sweeper.close();
});
