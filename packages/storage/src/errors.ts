/** Classified by the reaction of the caller. Test with {@link isStorageError} and the code. */
export type StorageErrorCode =
  /** The key exists: report AlreadyExists. */
  | 'KeyExists'
  /** Another writer was first: read again and retry, or report a conflict. */
  | 'RevisionConflict'
  /** The history is compacted: start from a new list. */
  | 'Compacted'
  /** The revision is not reached yet: wait or report. */
  | 'FutureRevision'
  /** The write may have been carried out: read before repeating it. */
  | 'OutcomeUnknown'
  /** No space left: refuse writes, continue to serve reads. */
  | 'StorageFull'
  /** The value or the request exceeds the limit of the backend: do not retry. */
  | 'ValueTooLarge'
  /** The value cannot be decrypted: report an internal error; the key is missing in the encryption configuration. */
  | 'Undecryptable'
  /** Nothing was carried out: retry later. */
  | 'Unavailable'
  /** Another process uses the directory, or the data has another format: stop the process. */
  | 'Unusable';

interface StorageErrorInit {
  readonly key?: string | undefined;
  readonly cause?: unknown;
}

/** Base class of the errors of a {@link Storage}. */
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

/** True for a {@link StorageError}, also of another copy of this package; optionally of one code. */
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
  /** The current revision of the key; undefined when it does not exist or the backend does not return it. */
  readonly current: number | undefined;
  constructor(key: string, expected: number, current: number | undefined) {
    super('RevisionConflict', `the revision of ${key} is not ${expected}`, { key });
    this.current = current;
  }
}
export class CompactedError extends StorageError {
  /** The oldest readable revision. */
  readonly oldest: number;
  constructor(wanted: number, oldest: number) {
    super('Compacted', `revision ${wanted} has been compacted, the oldest is ${oldest}`);
    this.oldest = oldest;
  }
}
export class FutureRevisionError extends StorageError {
  readonly current: number;
  constructor(wanted: number, current: number) {
    super('FutureRevision', `revision ${wanted} is greater than the current revision ${current}`);
    this.current = current;
  }
}
export class OutcomeUnknownError extends StorageError {
  constructor(key: string, cause: unknown) {
    super('OutcomeUnknown', `unknown outcome of the write of ${key}`, { key, cause });
  }
}
export class StorageFullError extends StorageError {
  constructor(cause?: unknown) {
    super('StorageFull', 'no space left in the store', { cause });
  }
}
export class ValueTooLargeError extends StorageError {
  constructor(key: string, message = 'etcdserver: request is too large') {
    super('ValueTooLarge', message, { key });
  }
}
export class UndecryptableError extends StorageError {
  constructor(key: string, cause: unknown) {
    super('Undecryptable', `unable to transform key ${JSON.stringify(key)}`, { key, cause });
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
/** Another process has the store open. */
export class StoreInUseError extends StorageUnusableError {}
