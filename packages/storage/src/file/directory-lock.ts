import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StorageUnusableError } from '../errors.ts';

/**
 * One process per folder. The lock is the operating system's on the file `lock`, so it goes with the process however
 * that dies, holds between containers that share the folder, and leaves nothing to clean up. Node offers no file locks;
 * the SQLite that is built into it takes one as a side effect of an exclusive transaction, and that is all it does here.
 */
export class FolderLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Throws {@link StorageUnusableError} when another process, or this one, has the folder. */
  static take(folder: string): FolderLock {
    const path = join(folder, 'lock');
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path);
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return new FolderLock(database);
    } catch (error) {
      database?.close();
      if (isBusy(error)) {
        throw new StorageUnusableError(
          `the folder ${folder} is in use by another process: stop that process, or give this one a folder of its own`,
          error,
        );
      }
      throw new StorageUnusableError(
        `the file ${path} cannot be locked: the folder must exist, be writable, and stand on a local file system`,
        error,
      );
    }
  }

  release(): void {
    this.#database.close();
  }
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === sqliteBusy;
}
