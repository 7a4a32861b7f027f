import { afterEach } from '@jest/globals';
import type { CacheEvent } from '../../src/watch-cache-interface.ts';
import { type WatchCacheOptions, openWatchCache } from '../../src/cacher/open-watch-cache.ts';
import { ScriptedBackend } from './scripted-backend.ts';
import type { BackedWatchCache } from '../../src/cacher/watch-cache.ts';
import { FakeClock } from '@multiplane/testing';

export const maps = '/registry/core/configmaps/';
export const secrets = '/registry/core/secrets/';
export const bytes = (text: string): Buffer => Buffer.from(text);

/** TEST ONLY: a cache over a scripted backend. */
export interface ScriptedCache {
  readonly backend: ScriptedBackend;
  readonly cache: BackedWatchCache;
  readonly clock: FakeClock;
  readonly errors: string[];
  /** Writes and waits until the cache has the write. */
  readonly put: (key: string, text?: string) => Promise<number>;
  readonly remove: (key: string) => Promise<number>;
}

type SetUp = (options?: WatchCacheOptions, backend?: ScriptedBackend) => ScriptedCache;

/** Creates caches for the tests of a suite and closes them after each test. */
export function scriptedCaches(): SetUp {
  const open: BackedWatchCache[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((cache) => cache.close()));
  });
  return (options = {}, backend = new ScriptedBackend()) => {
    const made = scriptedCache(options, backend);
    open.push(made.cache);
    return made;
  };
}

function scriptedCache(options: WatchCacheOptions, backend: ScriptedBackend): ScriptedCache {
  const clock = new FakeClock();
  const errors: string[] = [];
  const cache = openWatchCache(options, {
    storage: backend,
    clock,
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
  });
  const seen = async (revision: number): Promise<number> => {
    await cache.waitFor(revision, Infinity);
    return revision;
  };
  return {
    backend,
    cache,
    clock,
    errors,
    put: async (key, text = 'x') => {
      const current = await backend.get(key);
      return await seen(
        await (current ? backend.update(key, bytes(text), current.revision) : backend.create(key, bytes(text))),
      );
    },
    remove: async (key) => {
      return await seen(await backend.delete(key, (await backend.get(key))?.revision ?? 0));
    },
  };
}

/** A subscription that records its events. */
export function follow(
  cache: BackedWatchCache,
  scope: string,
  after = cache.revision,
): { events: string[]; ends: string[]; stop: () => void } {
  const events: string[] = [];
  const ends: string[] = [];
  const stop = cache.subscribe({
    scope,
    after,
    onEvent: (event) => events.push(describeEvent(event)),
    onEnd: (reason) => ends.push((reason as { code?: string }).code ?? reason.message),
  });
  return { events, ends, stop };
}

function describeEvent({ current, previous, revision }: CacheEvent): string {
  const name = (current ?? previous)?.key.split('/').at(-1);
  return `${revision} ${name} ${previous?.value.toString() ?? '-'}>${current?.value.toString() ?? '-'}`;
}
