import { expect, test } from '@jest/globals';
import { StorageUnavailableError } from '@multiplane/storage';
import { storageStatus } from './storage-status.ts';

test('clients do not learn where the store is and what is wrong with it; the log does', () => {
  const error = new StorageUnavailableError('etcd does not answer: connect ECONNREFUSED 10.0.0.7:2379');
  expect(storageStatus(error)).toMatchObject({
    code: 503,
    message: 'storage is unavailable',
    details: { retryAfterSeconds: 1 },
    cause: error,
  });
});
