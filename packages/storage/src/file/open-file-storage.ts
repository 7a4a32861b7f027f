import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StorageUnusableError } from '../errors.ts';
import { copyName, DataFile, dataName, sync } from './data-file.ts';
import { checkFile } from './file-check.ts';
import { FileStorage } from './file-storage.ts';
import { FolderLock } from './folder-lock.ts';
import { empty, format, readMeta } from './tables.ts';

export interface FileStorageOptions {
  /** Made when missing; one process at a time. */
  readonly directory: string;
  /** Milliseconds since the epoch; for key expiry and the age of history. */
  readonly now?: (() => number) | undefined;
  /** How long history is kept for watches and lists of older states; five minutes. */
  readonly historyMs?: number | undefined;
  /** How much history is kept; 128 MiB. */
  readonly historyBytes?: number | undefined;
  /** How much of the newest history is kept in memory; 16 MiB. */
  readonly feedBytes?: number | undefined;
  /** The largest value; 1.5 MiB as with etcd, so that a store can move there. */
  readonly maxValueBytes?: number | undefined;
  /** With less room on the disk the store counts as full; 4 MiB. */
  readonly reserveBytes?: number | undefined;
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
    // What a rewrite left that did not finish.
    await rm(join(folder, copyName), { force: true });
    const { repaired } = await checkFile(join(folder, dataName));
    const file = openDataFile(folder);
    await checkFormat(file);
    const settings = {
      now: options.now ?? Date.now,
      historyMs: options.historyMs ?? 5 * 60_000,
      historyBytes: options.historyBytes ?? 128 << 20,
      feedBytes: options.feedBytes ?? 16 << 20,
      maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20,
      reserveBytes: options.reserveBytes ?? 4 << 20,
    };
    return new FileStorage(settings, { lock, file, repaired });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openDataFile(folder: string): DataFile {
  try {
    return new DataFile(folder);
  } catch (error) {
    throw new StorageUnusableError(`the data file in ${folder} cannot be opened`, error);
  }
}

/** Marks a new file, refuses one of another layout. */
async function checkFormat(file: DataFile): Promise<void> {
  const found = readMeta(file.tables, 'format');
  if (found === format) return;
  if (found === undefined && readMeta(file.tables, 'revision') === undefined) {
    const { meta, root } = file.tables;
    await root.batch(() => {
      void meta.put('format', empty, format);
      void meta.put('revision', empty, 1);
      void meta.put('oldest', empty, 1);
    });
    // The names of the file and of its folder, without which its content is nothing.
    await sync(file.folder);
    await sync(dirname(resolve(file.folder)));
    return;
  }
  await file.close();
  throw new StorageUnusableError(
    `the data in ${file.folder} is of format ${found ?? 'unknown'}, this program knows ${format}: use the version of the program that wrote it`,
  );
}
