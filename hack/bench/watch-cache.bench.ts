/**
 * Costs of the watch cache without backend and network: bytes per object; throughput of load, reads, churn and
 * dispatch. `OBJECTS=1000000 hack/bench/run watch-cache` for another number of objects.
 */
import { systemClock } from '@multiplane/component-base';
import { ProcessInfo } from '@multiplane/testing';
import {
  type BackedWatchCache,
  type ListOptions,
  type ListResult,
  type Storage,
  type WatchBatch,
  openWatchCache,
} from '@multiplane/storage';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { report } from './report.ts';

const objects = Number(process.env['OBJECTS'] ?? 300_000);
const valueSize = 1024;
const prefix = '/registry/core/configmaps/';
const key = (i: number): string =>
  `${prefix}2x7kq9w3ab${String(i % 1000).padStart(4, '0')}/default/benchmark-object-${String(i).padStart(8, '0')}`;

/** Generates values on request, so that only the cache retains them. */
class GeneratedStorage implements Partial<Storage> {
  readonly #keys = Array.from({ length: objects }, (_, i) => i).sort((a, b) => (key(a) < key(b) ? -1 : 1));
  readonly #batches: WatchBatch[] = [];
  #wake: (() => void) | undefined;
  #page = 0;
  localRevision = objects;

  async list(_prefix: string, { limit = 0 }: ListOptions = {}): Promise<ListResult> {
    await yieldToEventLoop();
    const page = this.#keys.slice(this.#page, this.#page + limit);
    this.#page += limit;
    const items = page.map((i) => ({
      key: Buffer.from(key(i)).toString(),
      value: Buffer.alloc(valueSize, 120),
      revision: i + 1,
    }));
    return { items, revision: objects, remaining: Math.max(0, objects - this.#page) };
  }

  async *watch(): AsyncGenerator<WatchBatch, void, undefined> {
    for (;;) {
      await yieldToEventLoop();
      const batch = this.#batches.shift();
      if (batch !== undefined) yield batch;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  put(i: number, count = 1): void {
    const events = Array.from({ length: count }, (_, n) => ({
      type: 'put' as const,
      key: key(i + n),
      value: Buffer.alloc(valueSize, 121),
      revision: ++this.localRevision,
      created: false,
    }));
    this.#batches.push({ events, revision: this.localRevision });
    this.#wake?.();
  }
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function anonymousBytes(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collectGarbage();
    await yieldToEventLoop();
  }
  return new ProcessInfo().memory(process.pid).anonymous;
}

async function perSecond(name: string, unit: string, count: number, work: () => Promise<void>): Promise<void> {
  await yieldToEventLoop();
  const start = performance.now();
  await work();
  report({ name: `watch cache: ${name}`, value: (count / (performance.now() - start)) * 1000, unit: `${unit}/s` });
}

const storage = new GeneratedStorage();
// Grows the young generation to its full size, so that its growth is not attributed to the objects.
for (let i = 0; i < 40; i++) Array.from({ length: 100_000 }, (_, n) => ({ n }));
const before = await anonymousBytes();
let cache!: BackedWatchCache;
console.log(`\nWatch cache, ${objects} objects of ${valueSize} bytes`);

await perSecond('load', 'object', objects, async () => {
  const onError = (error: unknown, what: string): void => console.error(what, error);
  cache = openWatchCache({}, { storage: storage as unknown as Storage, clock: systemClock, onError });
  await cache.ready;
});

async function reportBytes(name: string, target: { readonly atMost: number } | undefined): Promise<void> {
  const overhead = (await anonymousBytes()) - before - objects * valueSize;
  report({ name: `watch cache: ${name}`, value: overhead / objects, unit: 'bytes', target });
}
await reportBytes('anonymous memory per object beyond its value', { atMost: 600 });

await perSecond('get', 'get', 100_000, async () => {
  for (let i = 0; i < 100_000; i++) {
    if (cache.peek(key((i * 7919) % objects))?.value.length !== valueSize) throw new Error('not found');
  }
});

await perSecond('list 10,000', 'list', 20, async () => {
  for (let i = 0; i < 20; i++) cache.snapshot(prefix).entries(undefined, 10_000);
});

const churn = Math.trunc(objects / 2);
await perSecond('churn of half the objects, lists under way', 'write', churn, async () => {
  for (let i = 0; i < churn; i += 100) {
    storage.put((i * 7919) % (objects - 100), 100);
    if (i % 1000 !== 0) continue;
    cache.snapshot(prefix).countFrom(prefix);
    await cache.waitFor(storage.localRevision, 10_000);
  }
  await cache.waitFor(storage.localRevision, 10_000);
});
await reportBytes('the same after the churn, window of 64 MiB included', undefined);

for (const [name, scope] of [
  ['events to 5,000 watchers of one key', (): string => key(42)],
  ['events to 5,000 watchers of 5,000 keys', (i: number): string => key(i)],
] as const) {
  let received = 0;
  const stops = Array.from({ length: 5000 }, (_, i) =>
    cache.subscribe({ scope: scope(i), after: cache.revision, onEvent: () => received++, onEnd: () => undefined }),
  );
  await perSecond(name, 'event', 2000, async () => {
    for (let i = 0; i < 2000; i++) storage.put(42);
    await cache.waitFor(storage.localRevision, 60_000);
  });
  if (received === 0) throw new Error('nothing was received');
  for (const stop of stops) stop();
}

await perSecond('subscriptions that start 1,000 events late', 'subscription', 5000, async () => {
  const stops = Array.from({ length: 5000 }, (_, i) =>
    cache.subscribe({ scope: key(i), after: cache.revision - 1000, onEvent: () => undefined, onEnd: () => undefined }),
  );
  for (const stop of stops) stop();
});
process.exit(0);
