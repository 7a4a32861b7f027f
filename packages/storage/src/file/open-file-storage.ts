import { mkdir } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { isStorageError, StorageUnusableError } from '../errors.ts';
import { FileStorage } from './file-storage.ts';
import { sync } from './folder.ts';
import { FolderLock } from './folder-lock.ts';
import { createLog } from './log-writer.ts';
import { recover } from './recovery.ts';

export interface FileStorageOptions {
  /** Made when missing; one process at a time. */
  readonly directory: string;
  /** Milliseconds since the epoch; for key expiry and the age of history. */
  readonly now?: (() => number) | undefined;
  /** How long history is kept for watches and lists of older states; five minutes. */
  readonly historyMs?: number | undefined;
  /** How much history is kept; 64 MiB. */
  readonly historyBytes?: number | undefined;
  /** How much of the newest history is kept in memory with its values; 16 MiB. */
  readonly feedBytes?: number | undefined;
  /** The largest value; 1.5 MiB as with etcd, so that a store can move there. */
  readonly maxValueBytes?: number | undefined;
  /** With less room on the disk the store counts as full; 4 MiB. */
  readonly reserveBytes?: number | undefined;
  /** A store of fewer bytes is read as a whole when it is opened; a larger one keeps a file of its keys. 32 MiB. */
  readonly wholeBelowBytes?: number | undefined;
}

/**
 * Opens the embedded store. Throws StorageUnusableError, with what to do about it, when the folder is in use, cannot be
 * written, or holds something that is not a whole store.
 */
export async function openFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const { directory: folder } = options;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StorageUnusableError(`the folder ${folder} cannot be made`, error);
  }
  const lock = FolderLock.take(folder);
  try {
    return await open(options, lock);
  } catch (error) {
    lock.release();
    if (isStorageError(error)) throw error;
    throw new StorageUnusableError(`the store in ${folder} cannot be opened`, error);
  }
}

async function open(options: FileStorageOptions, lock: FolderLock): Promise<FileStorage> {
  const { directory: folder, wholeBelowBytes = 32 << 20 } = options;
  const { state, salt: found, write, repaired, behind } = await recover({ folder, wholeBelowBytes });
  const salt = found ?? randomInt(2 ** 32);
  if (state.segments.at(-1)?.path.endsWith('.log') !== true) {
    const id = (state.segments.at(-1)?.id ?? 0) + 1;
    state.segments.push(await createLog({ folder, salt }, id, state.revision));
    // The name of the folder, without which its content is nothing.
    await sync(dirname(resolve(folder)));
  }
  const settings = {
    folder,
    salt,
    write,
    repaired,
    behind,
    wholeBelowBytes,
    now: options.now ?? Date.now,
    historyMs: options.historyMs ?? 5 * 60_000,
    historyBytes: options.historyBytes ?? 64 << 20,
    feedBytes: options.feedBytes ?? 16 << 20,
    maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20,
    reserveBytes: options.reserveBytes ?? 4 << 20,
  };
  return new FileStorage(settings, { lock, state });
}
