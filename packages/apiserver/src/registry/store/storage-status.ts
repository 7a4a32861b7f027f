import { StatusError, isStatusError, statusErrors } from '@multiplane/apimachinery';
import { type StorageError, isStorageError } from '@multiplane/storage';

/** The message of a resourceVersion conflict in Kubernetes. */
export const modifiedText =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * The Status for a storage error. A write with an unknown outcome is reported as such and not retried by the server: only
 * the client can decide whether a retry is safe.
 */
export function storageStatus(error: StorageError): StatusError {
  switch (error.code) {
    case 'ValueTooLarge':
      return new StatusError({ code: 500, reason: '', message: error.message, cause: error });
    case 'StorageFull':
      return new StatusError({
        code: 507,
        reason: '',
        message: 'the server has no room left to store the object',
        cause: error,
      });
    case 'OutcomeUnknown':
      return new StatusError({
        code: 504,
        reason: 'Timeout',
        message: 'Timeout: the store did not confirm the write in time; it may or may not have happened',
        cause: error,
      });
    case 'Unavailable':
      return new StatusError({
        code: 503,
        reason: 'ServiceUnavailable',
        message: 'storage is unavailable',
        details: { retryAfterSeconds: 1 },
        cause: error,
      });
    case 'Compacted':
      return new StatusError({
        code: 410,
        reason: 'Expired',
        message: 'The resourceVersion for the provided list is too old.',
        cause: error,
      });
    case 'FutureRevision':
    case 'KeyExists':
    case 'RevisionConflict':
    case 'Undecryptable':
    case 'Unusable':
      return statusErrors.internal(error);
  }
}

/** {@link storageStatus} for any error; errors that are not storage errors are returned unchanged. */
export function withStorageStatus(error: unknown): unknown {
  return !isStatusError(error) && isStorageError(error) ? storageStatus(error) : error;
}
