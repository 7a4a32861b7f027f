import type { Clock } from '@multiplane/component-base';
import type { Storage } from '../interface.ts';
import { registryPrefix } from '../keys.ts';
import { BackedWatchCache } from './watch-cache.ts';

export interface WatchCacheOptions {
  /** What the cache holds of the store; `/registry/` unless told otherwise. */
  readonly prefix?: string | undefined;
  /** Objects asked for at once while loading. */
  readonly pageSize?: number | undefined;
  /** So many of the latest revisions are in the window after a start, as far as the store has kept them. 10,000. */
  readonly historyRevisions?: number | undefined;
  /** Events beyond this many bytes are forgotten; their late readers get 410. 64 MiB. */
  readonly windowBytes?: number | undefined;
  /** Events younger than this are kept as long as they fit. 5 minutes, as long as the store keeps history. */
  readonly windowMinAgeSeconds?: number | undefined;
  /** How long a consistent read waits for the cache. 3 s (K3.2). */
  readonly freshTimeoutMs?: number | undefined;
  /** Milliseconds before the n-th try (from 0) to follow the store again. */
  readonly retryDelayMs?: ((attempt: number) => number) | undefined;
}

export interface WatchCacheModules {
  /** The backend; the cache closes it. */
  readonly storage: Storage;
  readonly clock: Clock;
  /** Values that are still in the store's files when the cache is ready are read from then on; absent: at once. */
  readonly whenToFill?: Promise<unknown> | undefined;
  /** Told about interruptions of the store's watch and failures of subscribers, all dealt with; for logs. */
  readonly onError: (error: unknown, what: string, failures: number) => void;
}

const doubling = (attempt: number): number => Math.min(50 * 2 ** attempt, 5000);

/** Starts a cache over a store. It loads at once; `ready` tells when it has. */
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
      retryDelayMs: options.retryDelayMs ?? doubling,
    },
    modules,
  );
}
