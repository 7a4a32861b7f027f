import { crc32 } from 'node:zlib';
import { open, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageUnusableError } from '../errors.ts';
import { readAcknowledgedEnd } from './acknowledged-end.ts';
import {
  acknowledgedEndName,
  baseName,
  type DirectoryContent,
  keyIndexFileName,
  logName,
  readDataDirectory,
  sync,
} from './data-directory.ts';
import { isKeyIndexHeader, readKeyIndexSnapshot, snapshotHeaderBytes } from './key-index-snapshot.ts';
import { type Replayed, SegmentReplay, type SegmentReplayOptions } from './segment-replay.ts';

export interface RecoveryOptions {
  readonly directory: string;
  /** Smaller stores are replayed completely, even with a snapshot. */
  readonly minIndexSnapshotBytes: number;
  /** Start although acknowledged data is gone, or although it is unknown which. */
  readonly acceptDataLoss?: boolean | undefined;
  /** Only report: no file is changed. */
  readonly readOnly?: boolean | undefined;
  /** Called with the bytes that were replayed so far and their total. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Recovers the state from the data directory.
 *
 *   full replay         the base first, its records in revision order, then the logs. Every record is checked. Revisions in
 *                       the logs have no gaps, so a missing or shortened segment before the last one is detected.
 *   acknowledged end    the file `end` says how far the log was acknowledged. A log that does not reach it was shortened or
 *                       is missing: the store is refused
 *   torn write          after the acknowledged end the last log may end within a write that was never acknowledged: that end
 *                       is truncated
 *   damaged record      before that end a record with a wrong checksum is acknowledged data. When its header still names its
 *                       key, the record is quarantined: its key is absent until it is written again, the rest is served. The
 *                       history up to it is dropped, so that watches start again and learn what is gone.
 *   unknown damage      when it is unknown which keys are affected, an older version of one may be the latest that is left.
 *                       Serving it would go back in time, so the store is refused
 *   incremental replay  a large store has a key index snapshot. When every segment matches its fingerprint, only the
 *                       records after the snapshot are replayed, and older records are checked when they are read. When
 *                       anything does not match, everything is replayed, and the snapshot is removed before any write.
 *
 * With `acceptDataLoss` what would be refused is reported in {@link Replayed.losses}; the revision continues after the last
 * one that was acknowledged. The caller then writes the state anew, so that the next start needs no acceptance.
 */
export async function recover(options: RecoveryOptions): Promise<Replayed> {
  const { directory, minIndexSnapshotBytes, acceptDataLoss = false, readOnly = false, onProgress } = options;
  const content = await readDataDirectory(directory);
  const { base, logs, keys, stale } = content;
  const total = await bytesOf(directory, content);
  let done = 0;
  const recorded = await readAcknowledgedEnd(directory);
  if (recorded === 'damaged' && !acceptDataLoss) throw unreadableEnd(directory);
  const replayOptions: SegmentReplayOptions = {
    directory,
    end: recorded === 'damaged' ? undefined : recorded,
    acceptDataLoss,
    readOnly,
    onProgress: (bytes) => onProgress?.((done += bytes), total),
  };
  if (!readOnly) {
    for (const path of stale) await unlink(path);
    if (stale.length > 0) await sync(directory);
    const resumed = keys && total >= minIndexSnapshotBytes ? await resume(replayOptions, content) : undefined;
    if (resumed !== undefined) return resumed;
  }
  const replay = new SegmentReplay(replayOptions);
  try {
    if (base !== undefined) await replay.readBase(base);
    for (const [i, id] of logs.entries()) await replay.readLog(id, i === logs.length - 1);
    const result = await replay.result();
    if (keys && !readOnly) {
      await discardKeyIndex(directory);
      await sync(directory);
    }
    return result;
  } catch (error) {
    await replay.close();
    throw error;
  }
}

/** Restores the snapshot and replays the records after it; undefined when the snapshot is not valid. */
async function resume(options: SegmentReplayOptions, content: DirectoryContent): Promise<Replayed | undefined> {
  const keys = await readKeyIndexSnapshot(join(options.directory, keyIndexFileName));
  if (keys === undefined) return undefined;
  const { logs } = content;
  const replay = new SegmentReplay(options);
  try {
    const from = await replay.restore(keys, content);
    if (from !== undefined) {
      for (const [i, id] of logs.entries()) if (id >= from) await replay.readLog(id, i === logs.length - 1);
      return await replay.result();
    }
  } catch {
    // The full replay reports the cause.
  }
  await replay.close();
  return undefined;
}

/** Removes the snapshot. A file of that name that no store wrote is renamed instead. */
async function discardKeyIndex(directory: string): Promise<void> {
  const path = join(directory, keyIndexFileName);
  const head = await headOf(path, snapshotHeaderBytes);
  if (isKeyIndexHeader(head)) await unlink(path);
  else await rename(path, `${path}.unknown-${crc32(head).toString(16)}`);
}

async function headOf(path: string, length: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function bytesOf(directory: string, { base, logs }: DirectoryContent): Promise<number> {
  let bytes = 0;
  const names = logs.map(logName);
  if (base !== undefined) names.push(baseName(base));
  for (const name of names) bytes += (await stat(join(directory, name))).size;
  return bytes;
}

function unreadableEnd(directory: string): StorageUnusableError {
  return new StorageUnusableError(
    `${join(directory, acknowledgedEndName)} is damaged, so it is unknown whether the log is complete: restore the ` +
      'directory from a backup, or start with --accept-data-loss',
  );
}
