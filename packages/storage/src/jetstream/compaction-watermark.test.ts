import { expect, test } from '@jest/globals';
import { yieldToEventLoop } from '@multiplane/component-base';
import type { StreamClient } from './stream-client.ts';
import { CompactionWatermark } from './compaction-watermark.ts';
import { StreamSubjects } from './stream-subjects.ts';

test('a stream that accepts no messages fails to open after a bounded number of attempts', async () => {
  const subjects = new StreamSubjects('s');
  let published = 0;
  const client = {
    stream: 's',
    info: () =>
      Promise.resolve({
        created: '2026-01-01T00:00:00Z',
        state: { last_seq: 2 ** 52 },
        config: { subjects: [subjects.all], max_msgs_per_subject: 1, max_age: 0 },
      }),
    lastMessage: () => Promise.resolve(undefined),
    publish: async () => {
      published++;
      await yieldToEventLoop();
      throw Object.assign(new Error('no responders'), { code: '503' });
    },
    pause: () => Promise.resolve(),
  };
  const watermark = new CompactionWatermark({ replicas: 1 }, { client: client as unknown as StreamClient, subjects });
  await expect(watermark.ensure()).rejects.toMatchObject({ code: 'Unavailable' });
  expect(published).toBeLessThan(10);
});
