/** Classed by what the caller does next. Test with {@link isStorageError} and the code. */
export type StorageErrorCode =
  /** The key is there: the caller reports a conflict of names. */
  | 'KeyExists'
  /** Somebody else wrote first: read again and retry, or report. */
  | 'RevisionConflict'
  /** History is gone: start from a fresh list. */
  | 'Compacted'
  /** The revision lies ahead: wait or report. */
  | 'FutureRevision'
  /** The write may or may not have happened. Never repeat it blindly: read first. */
  | 'OutcomeUnknown'
  /** No room: refuse writes, go on reading. */
  | 'StorageFull'
  /** The value or the request is over the backend's limit: never retry. */
  | 'ValueTooLarge'
  /** Nothing was done; trying again later may help. */
  | 'Unavailable'
  /** The folder belongs to another process, or the data is of a foreign format: stop the process. */
  | 'Unusable';

interface StorageErrorInit {
  readonly key?: string | undefined;
  readonly cause?: unknown;
}

/** Base of everything a {@link Storage} throws on purpose. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;
  readonly key: string | undefined;
  constructor(code: StorageErrorCode, message: string, init: StorageErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.key = init.key;
  }
}

/** True for a {@link StorageError} of any copy of this package, optionally of one code. */
export function isStorageError(error: unknown, code?: StorageErrorCode): error is StorageError {
  return (
    error instanceof Error &&
    error.name === 'StorageError' &&
    (code === undefined || (error as StorageError).code === code)
  );
}

export class KeyExistsError extends StorageError {
  constructor(key: string, cause?: unknown) {
    super('KeyExists', `key exists: ${key}`, { key, cause });
  }
}
export class RevisionConflictError extends StorageError {
  /** The revision the key has now; undefined when it is gone or the backend did not say. */
  readonly current: number | undefined;
  constructor(key: string, expected: number, current: number | undefined) {
    super('RevisionConflict', `revision of ${key} is not ${expected} any more`, { key });
    this.current = current;
  }
}
export class CompactedError extends StorageError {
  /** The oldest revision that can still be read. */
  readonly oldest: number;
  constructor(wanted: number, oldest: number) {
    super('Compacted', `revision ${wanted} has been compacted, the oldest is ${oldest}`);
    this.oldest = oldest;
  }
}
export class FutureRevisionError extends StorageError {
  readonly current: number;
  constructor(wanted: number, current: number) {
    super('FutureRevision', `revision ${wanted} lies ahead of ${current}`);
    this.current = current;
  }
}
export class OutcomeUnknownError extends StorageError {
  constructor(key: string, cause: unknown) {
    super('OutcomeUnknown', `nobody knows whether the write of ${key} happened`, { key, cause });
  }
}
export class StorageFullError extends StorageError {
  constructor(cause?: unknown) {
    super('StorageFull', 'no room left in the store', { cause });
  }
}
export class ValueTooLargeError extends StorageError {
  constructor(key: string, message = 'etcdserver: request is too large') {
    super('ValueTooLarge', message, { key });
  }
}
export class StorageUnavailableError extends StorageError {
  constructor(message: string, cause?: unknown) {
    super('Unavailable', message, { cause });
  }
}
export class StorageUnusableError extends StorageError {
  constructor(message: string, cause?: unknown) {
    super('Unusable', message, { cause });
  }
}
