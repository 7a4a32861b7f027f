import { expect, test } from '@jest/globals';
import { Interruptions } from '../interruptions.ts';
import { Compactor } from './compactor.ts';
import type { EtcdClient } from './etcd-client.ts';
import { EtcdKeys } from './etcd-keys.ts';

test('compacting that fails is told: without it etcd grows until it takes no writes', async () => {
  const told = Promise.withResolvers<unknown>();
  const compactor = new Compactor(
    { intervalMs: 1 },
    {
      client: {
        closed: new AbortController().signal,
        range: () => Promise.reject(new Error('not allowed')),
      } as unknown as EtcdClient,
      keys: new EtcdKeys(''),
      interruptions: new Interruptions({ onInterruption: told.resolve }),
    },
  );
  expect(await told.promise).toEqual(new Error('not allowed'));
  compactor.close();
});
