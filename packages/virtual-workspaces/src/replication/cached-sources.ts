import type { Clock, Logger } from '@multiplane/component-base';
import { failureLevel } from '@multiplane/component-base';
import type { RestTransport } from '@multiplane/client';
import type { GroupVersionResource } from '@multiplane/apimachinery';
import { cacheResourcePrefix, openWatchCache, type WatchCache } from '@multiplane/storage';
import { RemoteCachedStorage } from './remote-cached-storage.ts';

/** A watch cache that holds the objects of one CachedResource identity, of all shards. */
export interface OpenedSource {
  readonly cache: WatchCache;
  release(): void;
}

/** Opens the watch cache with the objects of an identity; several users share it. */
export type OpenSource = (resource: GroupVersionResource, identity: string) => OpenedSource;

/**
 * Watch caches over a cache server in another process: one per CachedResource identity that consumers of this process
 * read, shared by all of them and closed with the last one.
 */
export function remoteSources(modules: {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly logger: Logger;
}): OpenSource {
  const { transport, clock, logger } = modules;
  const opened = new Map<string, { readonly cache: WatchCache; users: number }>();
  return (resource, identity) => {
    const prefix = cacheResourcePrefix({ ...resource, identity }, '*');
    const key = `${prefix} ${resource.version}`;
    let source = opened.get(key);
    if (source === undefined) {
      const storage = new RemoteCachedStorage({ resource, identity }, { transport });
      const onError = (error: unknown, what: string, failures: number): void =>
        logger[failureLevel(failures)]('failed to follow cached objects', { prefix, what, failures, error });
      source = { cache: openWatchCache({ prefix }, { storage, clock, onError }), users: 0 };
      opened.set(key, source);
    }
    source.users += 1;
    const { cache } = source;
    let isReleased = false;
    return {
      cache,
      release: () => {
        const current = opened.get(key);
        if (isReleased || current === undefined) return;
        isReleased = true;
        current.users -= 1;
        if (current.users > 0) return;
        opened.delete(key);
        void cache.close();
      },
    };
  };
}
