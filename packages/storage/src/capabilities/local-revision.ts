import type { Storage } from '../interface.ts';

/** A store that no other process writes to (memory, file), so that it knows its latest revision without I/O. */
export interface LocalRevisionStorage extends Storage {
  /**
   * The value that {@link Storage.currentRevision} would return. Never below the revision of an acknowledged write; a watch
   * of the whole store reaches it without further writes.
   */
  readonly localRevision: number;
}

export function hasLocalRevision(storage: Storage): storage is LocalRevisionStorage {
  return localRevisionOf(storage) !== undefined;
}

/** The latest revision where the store knows it without I/O; undefined for stores with other writers. */
export function localRevisionOf(storage: Storage): number | undefined {
  return (storage as Partial<LocalRevisionStorage>).localRevision;
}
