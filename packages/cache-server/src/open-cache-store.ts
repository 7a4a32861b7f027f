import { join } from 'node:path';
import { openFileStorage, type Storage } from '@multiplane/storage';

/** The embedded store of cached objects. Replication writes a missing cached object again, so a damaged store is no loss. */
export function openCacheStore(rootDirectory: string): Promise<Storage> {
  return openFileStorage({ directory: join(rootDirectory, 'cache'), acceptDataLoss: true });
}
