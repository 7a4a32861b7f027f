import type { Storage, WatchBatch } from '../interface.ts';

/** A store without history (jetstream), which cannot page through the state of one revision. */
export interface StreamingListStorage extends Storage {
  /**
   * The current state below a prefix as events (compare KEP-3157, streaming lists). Applying them in order to an empty
   * state gives the state at the revision of the last batch; a key may occur several times. Throws CompactedError when
   * the stream was purged meanwhile: the caller starts again.
   */
  streamList(prefix: string, signal: AbortSignal): AsyncIterable<WatchBatch>;
}

export function supportsStreamingList(storage: Storage): storage is StreamingListStorage {
  return typeof (storage as Partial<StreamingListStorage>).streamList === 'function';
}
