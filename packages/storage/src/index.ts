export * from './interface.ts';
export * from './capabilities/bulk-read.ts';
export * from './capabilities/lazy-read.ts';
export * from './capabilities/local-revision.ts';
export * from './capabilities/stale-values.ts';
export * from './capabilities/streaming-list.ts';
export * from './errors.ts';
export * from './keys.ts';
export * from './cache-keys.ts';
export * from './watch-cache-interface.ts';
export * from './cache-indexes.ts';
export { compareKeys } from './key-order.ts';
export { mergedEntries } from './merged-entries.ts';
export { MemoryStorage } from './memory/memory-storage.ts';
export { openWatchCache } from './cacher/open-watch-cache.ts';
export { ClusterUsage, type StoredUsage, type Usage } from './usage/cluster-usage.ts';
export type { BackedWatchCache } from './cacher/watch-cache.ts';
export { progressIntervalMs, RemoteStorage, remoteStoragePath } from './remote/remote-storage.ts';
export { encodeFrame, writtenError } from './remote/storage-frames.ts';
export { type NatsTarget, natsOptions, natsTargetOf } from './nats-options.ts';
export { checkFileStore, type StoreCheck } from './file/check-file-store.ts';
export { type RecoveryReport } from './file/file-storage.ts';
export { openFileStorage } from './file/open-file-storage.ts';
export { createFileStoreAt } from './file/create-file-store-at.ts';
export { removeUnfinishedStore } from './file/data-directory.ts';
export { saveSnapshot } from './snapshot/save-snapshot.ts';
export { restoreSnapshot, type Restored } from './snapshot/restore-snapshot.ts';
export {
  SnapshotDecoder,
  SnapshotEncoder,
  type SnapshotHeader,
  type WorkspaceScope,
} from './snapshot/snapshot-format.ts';
