export * from './interface.ts';
export * from './errors.ts';
export * from './keys.ts';
export * from './watch-cache-interface.ts';
export { compareKeys, lowerBound } from './key-order.ts';
export { MemoryStorage, type MemoryStorageOptions } from './memory/memory-storage.ts';
export { openWatchCache, type WatchCacheModules, type WatchCacheOptions } from './cacher/open-watch-cache.ts';
export type { BackedWatchCache, WatchCacheStatistics } from './cacher/watch-cache.ts';
