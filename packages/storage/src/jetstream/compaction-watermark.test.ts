import { expect, test } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StreamClient } from './stream-client.ts';
import { StreamFloor } from './stream-floor.ts';
import { StreamSubjects } from './stream-subjects.ts';

test('a stream that takes no message is not there, however long somebody tries', async () => {
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
    last: () => Promise.resolve(undefined),
    publish: async () => {
      published++;
      await nextTurn();
      throw Object.assign(new Error('no responders'), { code: '503' });
    },
    pause: () => Promise.resolve(),
  };
  const floor = new StreamFloor({ replicas: 1 }, client as unknown as StreamClient, subjects);
  await expect(floor.ensure()).rejects.toMatchObject({ code: 'Unavailable' });
  expect(published).toBeLessThan(10);
});
