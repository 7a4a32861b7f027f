/** A key of the cache with the size of its value in bytes, which is known before the value is in memory. */
export interface ObservedEntry {
  readonly key: string;
  readonly revision: number;
  readonly length: number;
}

/**
 * Follows the contents of the watch cache, for example to count them. Called synchronously on the dispatch path, before the
 * subscribers: must neither block nor throw.
 */
export interface ContentObserver {
  /**
   * The contents are loaded or loaded again; what was observed before is void. `scan` returns the current entries in key
   * order from a key (inclusive), at most `limit`; it may be called later, as long as the contents are not replaced again.
   */
  replaced(scan: (from: string, limit: number) => readonly ObservedEntry[]): void;
  /**
   * One change was applied; undefined: the key did not exist before, or does not exist any more. Not `isRecent`: the change
   * was made before the cache was loaded for the first time.
   */
  changed(current: ObservedEntry | undefined, previous: ObservedEntry | undefined, isRecent: boolean): void;
}
