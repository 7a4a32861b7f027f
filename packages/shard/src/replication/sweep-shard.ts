import { replicatedKinds, type ReplicatedKind } from '@multiplane/controllers';
import { cacheResourcePrefix, isStorageError, type Storage } from '@multiplane/storage';

/**
 * Deletes all cached objects of a shard, kind by kind. Lists again up to three times for objects that changed meanwhile, and
 * then gives up: the shard still publishes.
 */
export async function sweepShard(
  storage: Pick<Storage, 'list' | 'delete'>,
  shard: string,
  kinds: readonly ReplicatedKind[] = replicatedKinds,
): Promise<void> {
  for (const kind of kinds) {
    const prefix = cacheResourcePrefix(kind, shard);
    for (let attempt = 0; attempt < 3; attempt++) {
      const { items } = await storage.list(prefix);
      for (const { key, revision } of items) {
        try {
          await storage.delete(key, revision);
        } catch (error) {
          if (!isStorageError(error, 'RevisionConflict')) throw error;
        }
      }
      if (items.length === 0) break;
    }
  }
}
