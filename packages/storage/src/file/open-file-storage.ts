import { mkdir } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { isStorageError, StorageUnusableError } from '../errors.ts';
import { FileStorage } from './file-storage.ts';
import { sync } from './data-directory.ts';
import { DirectoryLock } from './directory-lock.ts';
import { createLog } from './log-writer.ts';
import { recover } from './recovery.ts';

export interface FileStorageOptions {
  /** Created when missing; one process at a time. */
  readonly directory: string;
  /** Milliseconds since the epoch; for key expiry and the age of history. */
  readonly now?: (() => number) | undefined;
  /** How long history is kept for watches and lists of older revisions; 5 minutes. */
  readonly historyMs?: number | undefined;
  /** Maximum bytes of history; 64 MiB. */
  readonly historyBytes?: number | undefined;
  /** Bytes of the newest events, with values, in memory; 16 MiB. */
  readonly eventBufferBytes?: number | undefined;
  /** The largest value; 1.5 MiB as in etcd, so that a store can be migrated there. */
  readonly maxValueBytes?: number | undefined;
  /** With less free disk space the store counts as full; 4 MiB. */
  readonly reserveBytes?: number | undefined;
  /** Recovery replays smaller stores completely; larger stores have a key index snapshot. 32 MiB. */
  readonly minIndexSnapshotBytes?: number | undefined;
}

/**
 * Opens the embedded store. Throws StorageUnusableError, with the action to take, when the directory is in use, not
 * writable, or contains a damaged store.
 */
export async function openFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const { directory } = options;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StorageUnusableError(`failed to create directory ${directory}`, error);
  }
  const lock = DirectoryLock.take(directory);
  try {
    return await open(options, lock);
  } catch (error) {
    lock.release();
    if (isStorageError(error)) throw error;
    throw new StorageUnusableError(`failed to open the store in ${directory}`, error);
  }
}

async function open(options: FileStorageOptions, lock: DirectoryLock): Promise<FileStorage> {
  const { directory, minIndexSnapshotBytes = 32 << 20 } = options;
  const {
    state,
    salt: found,
    write,
    repairReport,
    replayedBytes,
  } = await recover({ directory, minIndexSnapshotBytes });
  const salt = found ?? randomInt(2 ** 32);
  if (state.segments.at(-1)?.path.endsWith('.log') !== true) {
    const id = (state.segments.at(-1)?.id ?? 0) + 1;
    state.segments.push(await createLog({ directory, salt }, id, state.revision));
    // Syncs the name of the directory too; without it the content is lost.
    await sync(dirname(resolve(directory)));
  }
  const settings = {
    directory,
    salt,
    write,
    repairReport,
    replayedBytes,
    minIndexSnapshotBytes,
    now: options.now ?? Date.now,
    historyMs: options.historyMs ?? 5 * 60_000,
    historyBytes: options.historyBytes ?? 64 << 20,
    eventBufferBytes: options.eventBufferBytes ?? 16 << 20,
    maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20,
    reserveBytes: options.reserveBytes ?? 4 << 20,
  };
  return new FileStorage(settings, { lock, state });
}
