import { statfs } from 'node:fs/promises';
import { errorCode } from '../error-code.ts';
import { type StorageError, StorageFullError, StorageUnavailableError } from '../errors.ts';

/** Less than this free counts as full: lmdb reports a write that was cut short for lack of room as an I/O error. */
const fullBelowBytes = 4 << 20;

const lmdbMapFull = -30792;
const eio = 5;
const enospc = 28;
const edquot = 122;
const efbig = 27;

/** What a failed commit means to whoever wanted to write. */
export async function commitError(error: unknown, folder: string): Promise<StorageError> {
  const cause = await underlying(error);
  const code = errorCode(cause);
  if (code === enospc || code === edquot || code === efbig || code === lmdbMapFull) return new StorageFullError(cause);
  if (code === eio && (await hasLittleRoom(folder))) return new StorageFullError(cause);
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

async function hasLittleRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < fullBelowBytes;
  } catch {
    return false;
  }
}
