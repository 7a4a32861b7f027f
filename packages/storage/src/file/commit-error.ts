import { errorCode } from '../error-code.ts';
import { type StorageError, StorageFullError, StorageUnavailableError } from '../errors.ts';

/** Less than this free counts as full: lmdb reports a write that was cut short for lack of room as an I/O error. */
const fullBelowBytes = 4 << 20;

const lmdbMapFull = -30_792;
const eio = 5;
const full: ReadonlySet<unknown> = new Set([/* EFBIG */ 27, /* ENOSPC */ 28, /* EDQUOT */ 122, lmdbMapFull]);

/** What a failed commit means to whoever wanted to write. */
export async function commitError(error: unknown, freeBytes: number): Promise<StorageError> {
  const cause = await underlying(error);
  const code = errorCode(cause);
  if (full.has(code) || (code === eio && freeBytes < fullBelowBytes)) return new StorageFullError(cause);
  return new StorageUnavailableError('the disk refused a write', cause);
}

/** lmdb rejects with a general error that carries a promise which rejects with the reason. */
async function underlying(error: unknown): Promise<unknown> {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (reason) {
    return reason;
  }
}
