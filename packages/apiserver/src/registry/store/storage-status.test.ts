import { expect, test } from '@jest/globals';
import { StorageUnavailableError } from '@multiplane/storage';
import { storageStatus } from './storage-status.ts';

test('the address and the error of the store are in the cause for the log, not in the Status', () => {
  const error = new StorageUnavailableError('etcd does not respond: connect ECONNREFUSED 10.0.0.7:2379');
  expect(storageStatus(error)).toMatchObject({
    code: 503,
    message: 'storage is unavailable',
    details: { retryAfterSeconds: 1 },
    cause: error,
  });
});
