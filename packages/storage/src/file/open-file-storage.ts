import { mkdir } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { systemClock, type Clock } from '@multiplane/component-base';
import { isStorageError, StorageUnusableError } from '../errors.ts';
import { FileStorage } from './file-storage.ts';
import { EndRecorder } from './acknowledged-end.ts';
import { checkDataDirectory, sync } from './data-directory.ts';
import { DirectoryLock } from './directory-lock.ts';
import { createLog } from './log-writer.ts';
import { quarantinedCount } from './quarantine.ts';
import { recover } from './recovery.ts';

export interface FileStorageOptions {
  /** Created when missing; one process at a time. */
  readonly directory: string;
  /** Milliseconds since the epoch; for key expiry and the age of history. */
  readonly now?: (() => number) | undefined;
  /** Timer of the sync of the acknowledged end; default: the system's. */
  readonly clock?: Pick<Clock, 'after'> | undefined;
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
  /** Open the store although acknowledged data is missing; {@link FileStorage.recoveryReport} says what. */
  readonly acceptDataLoss?: boolean | undefined;
  /** Called during recovery with the bytes that were read so far and their total. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Opens the embedded store. Throws StorageUnusableError, with the action to take, when the directory is in use, not
 * writable, has files of something else, or contains a damaged store.
 */
export async function openFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const { directory } = options;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StorageUnusableError(`failed to create directory ${directory}`, error);
  }
  await checkDataDirectory(directory);
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
  const { directory, minIndexSnapshotBytes = 32 << 20, acceptDataLoss, onProgress } = options;
  const recovered = await recover({ directory, minIndexSnapshotBytes, acceptDataLoss, onProgress });
  const { state, write, replayedBytes, losses } = recovered;
  const salt = recovered.salt ?? randomInt(2 ** 32);
  // Also after a loss: the revisions continue after the lost ones, in a log that says so.
  if (state.segments.at(-1)?.path.endsWith('.log') !== true || losses.length > 0) {
    const id = Math.max(state.segments.at(-1)?.id ?? 0, recovered.lastSegment) + 1;
    state.segments.push(await createLog({ directory, salt }, id, state.revision));
    // Syncs the name of the directory too; without it the content is lost.
    await sync(dirname(resolve(directory)));
  }
  const settings = {
    directory,
    salt,
    write,
    replayedBytes,
    minIndexSnapshotBytes,
    recoveryReport: {
      truncated: recovered.repairReport,
      quarantined: recovered.quarantined,
      losses,
      quarantinedTotal: await quarantinedCount(directory),
    },
    now: options.now ?? Date.now,
    historyMs: options.historyMs ?? 5 * 60_000,
    historyBytes: options.historyBytes ?? 64 << 20,
    eventBufferBytes: options.eventBufferBytes ?? 16 << 20,
    maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20,
    reserveBytes: options.reserveBytes ?? 4 << 20,
  };
  const { active } = state;
  const end = new EndRecorder(
    directory,
    {
      salt,
      segment: active.id,
      offset: active.size,
      write,
      revision: state.revision,
    },
    { clock: options.clock ?? systemClock },
  );
  const store = new FileStorage(settings, { lock, state, end });
  // The base that is written here has no gap, so that the next start needs no acceptance.
  if (losses.length > 0) await store.defragment();
  return store;
}
