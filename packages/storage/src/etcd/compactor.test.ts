import { expect, test } from '@jest/globals';
import { WatchFailureReporter } from '../watch-failure-reporter.ts';
import { Compactor } from './compactor.ts';
import type { EtcdClient } from './etcd-client.ts';
import { EtcdKeys } from './etcd-keys.ts';

test('a failed compaction is reported: without compaction etcd grows until it refuses writes', async () => {
  const reported = Promise.withResolvers<unknown>();
  const compactor = new Compactor(
    { intervalMs: 1 },
    {
      client: {
        closed: new AbortController().signal,
        range: () => Promise.reject(new Error('not allowed')),
      } as unknown as EtcdClient,
      keys: new EtcdKeys(''),
      watchFailures: new WatchFailureReporter({ onWatchFailure: reported.resolve }),
    },
  );
  expect(await reported.promise).toEqual(new Error('not allowed'));
  compactor.close();
});
