import { StorageUnusableError } from '../errors.ts';
import type { Storage, StoredValue } from '../interface.ts';
import { registryPrefix } from '../keys.ts';
import { SnapshotDecoder, type SnapshotHeader } from './snapshot-format.ts';

export interface RestoreOptions {
  /** Called with the number of restored records. */
  readonly onProgress?: ((records: number) => void) | undefined;
  /** Seconds after which a key expires again; snapshots do not know what was left of it. */
  readonly ttlSeconds?: ((key: string) => number | undefined) | undefined;
}

export interface Restored {
  readonly header: SnapshotHeader;
  readonly records: number;
}

/** Writes in flight; the file store commits them together. */
const concurrency = 256;

/**
 * Writes a snapshot into an empty store. Every record gets a new revision; a store whose revision is at least that of the
 * snapshot (`createFileStoreAt`) so keeps the promise that revisions never go back.
 *
 * Throws StorageUnusableError when the store is not empty, or when the snapshot turns out to be damaged: the hash is at its
 * end, so by then the store contains records of it and must be thrown away.
 */
export async function restoreSnapshot(
  storage: Storage,
  source: AsyncIterable<Buffer>,
  { onProgress, ttlSeconds }: RestoreOptions = {},
): Promise<Restored> {
  const { items } = await storage.list(registryPrefix, { limit: 1, skipRemainingCount: true });
  if (items.length > 0)
    throw new StorageUnusableError(
      `the store is not empty, it has ${(items[0] as StoredValue).key}: restore into an empty store`,
    );
  const decoder = new SnapshotDecoder(source);
  const header = await decoder.header();
  if (header.workspace !== undefined)
    throw new StorageUnusableError(
      `the snapshot is of the workspace ${header.workspace.path}, not of a whole store: restore it with --workspace`,
    );
  let records = 0;
  const pending = new Set<Promise<unknown>>();
  let failure: { readonly error: unknown } | undefined;
  for await (const { key, value } of decoder.records()) {
    const write = storage
      .create(key, value, { ttlSeconds: ttlSeconds?.(key) })
      .catch((error: unknown) => (failure ??= { error }))
      .finally(() => pending.delete(write));
    pending.add(write);
    if (pending.size >= concurrency) await Promise.race(pending);
    if (failure !== undefined) break;
    records++;
    if (records % 1000 === 0) onProgress?.(records);
  }
  await Promise.all(pending);
  if (failure !== undefined) throw failure.error;
  onProgress?.(records);
  return { header, records };
}
