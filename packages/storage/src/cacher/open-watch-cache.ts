import type { Clock } from '@multiplane/component-base';
import type { Storage } from '../interface.ts';
import { registryPrefix } from '../keys.ts';
import type { ContentObserver } from './content-observer.ts';
import { BackedWatchCache } from './watch-cache.ts';

export interface WatchCacheOptions {
  /** The keys that the cache holds; default `/registry/`. */
  readonly prefix?: string | undefined;
  /** Maximum number of objects per page while loading; 500. */
  readonly pageSize?: number | undefined;
  /** The event window starts this many revisions back, as far as the store has kept the history; 10,000. */
  readonly historyRevisions?: number | undefined;
  /** Limit of the event window in bytes; readers of evicted events get 410. 64 MiB. */
  readonly windowBytes?: number | undefined;
  /** Younger events are kept as long as they fit; 5 minutes, for which the stores keep history too. */
  readonly windowMinAgeSeconds?: number | undefined;
  /** How long a consistent read waits for the cache; 3 s, as in Kubernetes. */
  readonly freshTimeoutMs?: number | undefined;
  /** Milliseconds before retry number `attempt` (from 0) of the watch of the store. */
  readonly retryDelayMs?: ((attempt: number) => number) | undefined;
}

export interface WatchCacheModules {
  /** The backend; the cache closes it. */
  readonly storage: Storage;
  readonly clock: Clock;
  /** Lazy values are loaded after this; absent: as soon as the cache is ready. */
  readonly loadValuesAfter?: Promise<unknown> | undefined;
  /** Follows the contents; absent: none. */
  readonly observer?: ContentObserver | undefined;
  /** Receives failures of the watch of the store and of subscribers, which are all handled; for logs. */
  readonly onError: (error: unknown, what: string, failures: number) => void;
}

const exponentialBackoff = (attempt: number): number => Math.min(50 * 2 ** attempt, 5000);

/** Creates a cache over a store and starts to load it; `ready` resolves when it is loaded. */
export function openWatchCache(options: WatchCacheOptions, modules: WatchCacheModules): BackedWatchCache {
  const prefix = options.prefix ?? registryPrefix;
  return new BackedWatchCache(
    {
      prefix,
      pageSize: options.pageSize ?? 500,
      historyRevisions: options.historyRevisions ?? 10_000,
      maxBytes: options.windowBytes ?? 64 * 1024 * 1024,
      minAgeSeconds: options.windowMinAgeSeconds ?? 300,
      timeoutMs: options.freshTimeoutMs ?? 3000,
      retryDelayMs: options.retryDelayMs ?? exponentialBackoff,
    },
    modules,
  );
}
