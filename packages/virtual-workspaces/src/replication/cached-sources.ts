import { failureLevel, type Logger } from '@multiplane/component-base';
import type { GroupVersionResource } from '@multiplane/apimachinery';
import { cacheResourcePrefix, openWatchCache, type WatchCache } from '@multiplane/storage';
import { RemoteCachedStorage, type RemoteCachedStorageModules } from './remote-cached-storage.ts';

/** A watch cache that holds the objects of one CachedResource identity, of all shards. */
export interface OpenedSource {
  readonly cache: WatchCache;
  release(): void;
}

/** Opens the watch cache with the objects of an identity; several users share it. */
export type OpenSource = (resource: GroupVersionResource, identity: string) => OpenedSource;

export interface RemoteSourcesModules extends RemoteCachedStorageModules {
  readonly logger: Logger;
}

interface SharedSource {
  readonly cache: WatchCache;
  users: number;
}

/**
 * Watch caches over a cache server in another process: one per CachedResource identity that consumers of this process
 * read, shared by all of them and closed with the last one.
 */
export class RemoteSources {
  readonly #modules: RemoteSourcesModules;
  readonly #opened = new Map<string, SharedSource>();

  constructor(modules: RemoteSourcesModules) {
    this.#modules = modules;
  }

  readonly open: OpenSource = (resource, identity) => {
    const prefix = cacheResourcePrefix({ ...resource, identity }, '*');
    const key = `${prefix} ${resource.version}`;
    const source = this.#opened.get(key) ?? { cache: this.#follow(resource, identity, prefix), users: 0 };
    this.#opened.set(key, source);
    source.users += 1;
    let isReleased = false;
    return {
      cache: source.cache,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        source.users -= 1;
        if (source.users > 0) return;
        if (this.#opened.get(key) === source) this.#opened.delete(key);
        void source.cache.close();
      },
    };
  };

  /** Ends all requests to the cache server. */
  async close(): Promise<void> {
    const sources = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.all(sources.map(({ cache }) => cache.close()));
  }

  #follow(resource: GroupVersionResource, identity: string, prefix: string): WatchCache {
    const { clock, logger } = this.#modules;
    const storage = new RemoteCachedStorage({ resource, identity }, this.#modules);
    const onError = (error: unknown, what: string, failures: number): void =>
      logger[failureLevel(failures)]('failed to follow cached objects', { prefix, what, failures, error });
    return openWatchCache({ prefix }, { storage, clock, onError });
  }
}
