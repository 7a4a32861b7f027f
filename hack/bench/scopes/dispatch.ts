import { storedValueOf } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import { MemoryStorage, openWatchCache, type BackedWatchCache, type CacheEvent } from '@multiplane/storage';
import { threadTime } from '../thread-time.ts';

/*
 * The watch cache alone: what an event costs with a watch per scope. In a whole server the write, its admission and the
 * network take many times as long and hide it.
 */
const identity = 'f'.repeat(64);
const prefix = `/registry/bench.example.dev/things/${identity}/`;
const keys = { label: 'bench.example.dev/provider', field: '.spec.provider' } as const;
export type ScopeKeyKind = keyof typeof keys;
const events = 10_000;
const rounds = 3;

const bytesOf = (scope: number, step: number): Buffer =>
  Buffer.from(
    `{"apiVersion":"bench.example.dev/v1","kind":"Thing","metadata":{"name":"one","uid":"00000000-0000-0000-0000-000000000000","labels":{"${keys.label}":"v${scope}"}},"spec":{"step":${step},"provider":"v${scope}","text":"${'x'.repeat(600)}"}}`,
  );

/** Microseconds of processor time for an event, median of the rounds. */
export interface DispatchTimes {
  /** A watch for each scope; events of all of them in turn. */
  readonly all: number;
  /** One watch, events of its scope only. */
  readonly alone: number;
  /** As `all`, without an index. */
  readonly unindexed: number;
  /** Without watches. */
  readonly unwatched: number;
}

export async function dispatchTimes(scopes: number, by: ScopeKeyKind): Promise<DispatchTimes> {
  const key = keys[by];
  const storage = new MemoryStorage();
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: (error) => console.error(error) });
  await cache.ready;
  const times = new Map<keyof DispatchTimes, number[]>();
  const take = async (name: keyof DispatchTimes, watched: number): Promise<void> => {
    times.set(name, [...(times.get(name) ?? []), await timeOf(cache, key, scopes, watched)]);
  };
  for (let round = 0; round < rounds; round++) {
    await take('unindexed', scopes);
    cache.indexes.add({ identity, name: key, valueOf: (entry) => storedValueOf(entry, key) });
    await cache.indexes.find(prefix, key)?.built;
    await take('all', scopes);
    await take('alone', 1);
    await take('unwatched', 0);
    cache.indexes.remove(identity, key);
    await Promise.resolve();
  }
  await cache.close();
  const median = (name: keyof DispatchTimes): number =>
    (times.get(name) ?? []).toSorted((a, b) => a - b)[Math.trunc(rounds / 2)] as number;
  return {
    all: median('all'),
    alone: median('alone'),
    unindexed: median('unindexed'),
    unwatched: median('unwatched'),
  };
}

async function timeOf(cache: BackedWatchCache, key: string, scopes: number, watched: number): Promise<number> {
  let seen = 0;
  const stops = Array.from({ length: watched }, (_, scope) => {
    const value = `v${scope}`;
    const selects = ({ previous, current }: CacheEvent): boolean =>
      [previous, current].some((entry) => entry !== undefined && storedValueOf(entry, key) === value);
    return cache.subscribe({
      scope: prefix,
      after: cache.revision,
      where: { name: key, value },
      // Without an index the subscriber selects, as a watch with a selector does.
      onEvent: (event) => {
        if (selects(event)) seen++;
      },
      onEnd: () => undefined,
    });
  });
  const revisions: number[] = Array.from({ length: scopes }, () => 0);
  for (let scope = 0; scope < scopes; scope++)
    revisions[scope] = (await cache.get(`${prefix}c${scope}/one`))?.revision ?? 0;
  // Without an index an event costs so much that fewer of them suffice.
  const count = cache.indexes.size === 0 ? events / 20 : events;
  const began = threadTime();
  for (let n = 0; n < count; n++) {
    const scope = watched === 1 ? 0 : n % scopes;
    const path = `${prefix}c${scope}/one`;
    const known = revisions[scope] as number;
    const bytes = bytesOf(scope, n);
    revisions[scope] = known === 0 ? await cache.create(path, bytes) : await cache.update(path, bytes, known);
  }
  const took = threadTime() - began;
  for (const stop of stops) stop();
  if (watched > 0 && seen !== count) throw new Error(`${seen} of ${count} events were delivered`);
  return (took * 1000) / count;
}
