import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StorageUnusableError, StoreInUseError } from '../errors.ts';

/**
 * One process per directory. The lock is an operating system lock on the file `lock`, so the system releases it when the
 * process dies, it works between containers that share the directory, and it leaves nothing to clean up. Node has no API
 * for file locks; its built-in SQLite takes one for an exclusive transaction and is used for nothing else here.
 */
export class DirectoryLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Throws {@link StoreInUseError} when this or another process holds the lock. */
  static take(directory: string): DirectoryLock {
    const path = join(directory, 'lock');
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path);
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return new DirectoryLock(database);
    } catch (error) {
      database?.close();
      if (isBusy(error)) {
        throw new StoreInUseError(
          `the directory ${directory} is in use by another process: stop that process, or use another directory`,
          error,
        );
      }
      throw new StorageUnusableError(
        `failed to lock ${path}: the directory must exist, be writable, and be on a local file system`,
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
