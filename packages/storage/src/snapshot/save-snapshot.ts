import { supportsBulkRead } from '../capabilities/bulk-read.ts';
import type { Storage, StoredValue } from '../interface.ts';
import { registryPrefix } from '../keys.ts';
import { SnapshotEncoder, type SnapshotHeader } from './snapshot-format.ts';

/** Keys per page of a store that is read in pages. */
const pageKeys = 500;

/**
 * The chunks of a snapshot of a running store.
 *
 *   consistency   the state of exactly one revision, at most as old as the call. Writes continue.
 *   file          its keys are in memory, its values are read in the order of the files, which stay open
 *   others        are read in pages at one revision. When the history of this revision is compacted before the last page,
 *                 CompactedError ends the snapshot: the caller starts again.
 *   memory        bounded by one page, or one region of a file, and one chunk
 */
export async function* saveSnapshot(
  storage: Storage,
  header: Omit<SnapshotHeader, 'revision'>,
): AsyncGenerator<Buffer, void, undefined> {
  const revision = await storage.currentRevision();
  const encoder = new SnapshotEncoder({ revision, ...header });
  for await (const items of stateOf(storage, revision)) {
    for (const item of items) {
      const chunk = encoder.add(item);
      if (chunk !== undefined) yield chunk;
    }
  }
  yield encoder.end();
}

/** Everything at a revision; values are valid until the next batch is requested. */
async function* stateOf(storage: Storage, revision: number): AsyncGenerator<readonly StoredValue[], void, undefined> {
  if (supportsBulkRead(storage)) {
    const { keys, batches } = await storage.readBulk(registryPrefix, revision);
    for await (const batch of batches)
      yield batch.map((item) => ({ key: keys[item.index] as string, value: item.value, revision: item.revision }));
    return;
  }
  for (let from = ''; ;) {
    const options = { revision, from, limit: pageKeys, skipRemainingCount: true };
    const { items, remaining } = await storage.list(registryPrefix, options);
    yield items;
    const last = items.at(-1);
    if (remaining === 0 || last === undefined) return;
    from = `${last.key}\0`;
  }
}
