import type { KubeObject } from '@multiplane/apimachinery';
import { DecodedObjects, encodeForStorage, ObjectReader } from '@multiplane/apiserver';
import { MemoryStorage, objectKey, openWatchCache, type ObjectLocation, type WatchCache } from '@multiplane/storage';
import { FakeClock } from '@multiplane/testing';

/** A watch cache over a store in memory, with a reader of its objects. */
export class CachedObjectsFixture {
  readonly cache: WatchCache;
  readonly reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });

  private constructor(cache: WatchCache) {
    this.cache = cache;
  }

  static async open(): Promise<CachedObjectsFixture> {
    const cache = openWatchCache(
      {},
      {
        storage: new MemoryStorage(),
        clock: new FakeClock(),
        onError: (error) => {
          throw new Error('the watch cache failed', { cause: error });
        },
      },
    );
    await cache.ready;
    return new CachedObjectsFixture(cache);
  }

  /** Stores an object; resolves when the cache has it. */
  async put(prefix: string, location: ObjectLocation, object: KubeObject): Promise<void> {
    const key = objectKey(prefix, location);
    const value = encodeForStorage(object);
    const existing = this.cache.peek(key);
    const revision =
      existing === undefined
        ? await this.cache.create(key, value)
        : await this.cache.update(key, value, existing.revision);
    await this.cache.waitFor(revision, 5_000);
  }

  /** Deletes an object; resolves when the cache knows. */
  async remove(prefix: string, location: ObjectLocation): Promise<void> {
    const key = objectKey(prefix, location);
    await this.cache.waitFor(await this.cache.delete(key, this.cache.peek(key)?.revision ?? 0), 5_000);
  }
}
