import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StorageUnusableError } from '../errors.ts';
import { acknowledgedEndName, readDataDirectory } from './data-directory.ts';
import { DirectoryLock } from './directory-lock.ts';
import { type QuarantinedRecord, quarantinedCount } from './quarantine.ts';
import { recover } from './recovery.ts';

export interface StoreCheck {
  readonly keys: number;
  readonly revision: number;
  /** Bytes of all segments, and of the live records in them. */
  readonly totalBytes: number;
  readonly liveBytes: number;
  /** The acknowledged end is recorded, so that the log is known to be complete. */
  readonly endRecorded: boolean;
  /** Set when the last write was not finished, which is no damage. */
  readonly unfinishedWrite: boolean;
  /** Damaged records; a start leaves out those whose key is known. */
  readonly damaged: readonly QuarantinedRecord[];
  /** Why the store does not start without `--accept-data-loss`; a sentence each. */
  readonly losses: readonly string[];
  /** Records in the folder `quarantine`, from earlier starts. */
  readonly quarantinedTotal: number;
}

/**
 * Reads and verifies every record of an embedded store, and changes nothing. Throws StorageUnusableError when the directory
 * has no store, is in use, or a segment cannot be read at all.
 */
export async function checkFileStore(
  directory: string,
  { onProgress }: { readonly onProgress?: ((done: number, total: number) => void) | undefined } = {},
): Promise<StoreCheck> {
  if (!existsSync(directory)) throw new StorageUnusableError(`the directory ${directory} does not exist`);
  const { base, logs } = await readDataDirectory(directory);
  const endRecorded = existsSync(join(directory, acknowledgedEndName));
  if (base === undefined && logs.length === 0 && !endRecorded)
    throw new StorageUnusableError(`the directory ${directory} has no store`);
  const lock = DirectoryLock.take(directory);
  try {
    const { state, quarantined, losses, repairReport } = await recover({
      directory,
      minIndexSnapshotBytes: Infinity,
      acceptDataLoss: true,
      readOnly: true,
      onProgress,
    });
    const { total, live } = state.size();
    for (const segment of state.segments) await segment.retire(false);
    return {
      keys: state.index.size,
      revision: state.revision,
      totalBytes: total,
      liveBytes: live,
      endRecorded,
      unfinishedWrite: repairReport !== undefined,
      damaged: quarantined,
      losses,
      quarantinedTotal: await quarantinedCount(directory),
    };
  } finally {
    lock.release();
  }
}
