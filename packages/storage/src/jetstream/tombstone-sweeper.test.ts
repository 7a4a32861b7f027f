import { expect, test } from '@jest/globals';
import { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { StreamClient } from './stream-client.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { StreamSubjects } from './stream-subjects.ts';
import { TombstoneSweeper } from './tombstone-sweeper.ts';

test('a failed sweep is reported', async () => {
  const reported = Promise.withResolvers<unknown>();
  const sweeper = new TombstoneSweeper(
    { intervalMs: 1, keepMs: 1 },
    {
      client: { closed: new AbortController() } as unknown as StreamClient,
      watermark: { read: () => Promise.reject(new Error('not allowed')) } as unknown as CompactionWatermark,
      subjects: new StreamSubjects('s'),
      watchFailures: new WatchFailureReporter({ onWatchFailure: reported.resolve }),
      now: () => 0,
    },
  );
  expect(await reported.promise).toEqual(new Error('not allowed'));
  sweeper.close();
});
