/**
 * What the watch cache costs, without any backend or network.
 *
 *   hack/node --conditions=multiplane-source --expose-gc hack/bench/watch-cache.bench.ts [objects, default 300000]
 *
 * Prints: anonymous memory per object beyond its bytes, load and churn speed, lists of 10,000, events per second handed
 * to 5,000 subscribers, and the longest hold of the event loop during each.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../../packages/component-base/src/index.ts';
import {
  type ListOptions,
  type ListResult,
  type Storage,
  type WatchBatch,
  openWatchCache,
} from '../../packages/storage/src/index.ts';

const objects = Number(process.argv[2] ?? 300_000);
const valueSize = 1024;
const prefix = '/registry/core/configmaps/';
const key = (i: number): string =>
  `${prefix}2x7kq9w3ab${String(i % 1000).padStart(4, '0')}/default/benchmark-object-${String(i).padStart(8, '0')}`;

/** Makes values when asked, so that only the cache holds them. */
class GeneratedStorage implements Partial<Storage> {
  readonly #keys = Array.from({ length: objects }, (_, i) => i).sort((a, b) => (key(a) < key(b) ? -1 : 1));
  readonly #batches: WatchBatch[] = [];
  #wake: (() => void) | undefined;
  #page = 0;
  localRevision = objects;

  async list(_prefix: string, { limit = 0 }: ListOptions = {}): Promise<ListResult> {
    await nextTurn();
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
      await nextTurn();
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

function anonymousBytes(): number {
  const line = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(line?.[1]) * 1024;
}

async function settledMemory(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.();
    await nextTurn();
  }
  return anonymousBytes();
}

const delay = monitorEventLoopDelay({ resolution: 1 });
async function timed(name: string, work: () => Promise<string>): Promise<void> {
  await nextTurn();
  delay.reset();
  delay.enable();
  const start = performance.now();
  const result = await work();
  const ms = performance.now() - start;
  delay.disable();
  console.log(
    `${name.padEnd(34)} ${ms.toFixed(0).padStart(7)} ms  hold ${(delay.max / 1e6).toFixed(1).padStart(6)} ms  ${result}`,
  );
}
const rate = (count: number, start: number): string => `${Math.round((count / (performance.now() - start)) * 1000)}/s`;

const storage = new GeneratedStorage();
const before = await settledMemory();
const open = (): ReturnType<typeof openWatchCache> =>
  openWatchCache(
    {},
    {
      storage: storage as unknown as Storage,
      clock: systemClock,
      onError: (error, what) => console.error(what, error),
    },
  );
let cache!: ReturnType<typeof open>;

await timed(`load ${objects}`, async () => {
  const start = performance.now();
  cache = open();
  await cache.ready;
  return rate(objects, start);
});
const beyond = async (): Promise<string> => {
  const { objects, windowBytes } = cache.statistics;
  const extra = (await settledMemory()) - before - objects * valueSize;
  const { heapUsed, heapTotal, arrayBuffers } = process.memoryUsage();
  const mib = (bytes: number): string => `${Math.round(bytes / 1048576)} MiB`;
  console.log(
    `heap ${mib(heapUsed)} of ${mib(heapTotal)}, array buffers ${mib(arrayBuffers)}, anonymous ${mib(anonymousBytes())}`,
  );
  return `${Math.round(extra / objects)} bytes per object beyond its value (window ${Math.round(windowBytes / objects)})`;
};
console.log(await beyond());

await timed('get 100,000 random', async () => {
  const start = performance.now();
  let found = 0;
  for (let i = 0; i < 100_000; i++) if (cache.peek(key((i * 7919) % objects))?.value.length === valueSize) found++;
  return rate(found, start);
});

await timed('list 10,000, 20 times', async () => {
  const start = performance.now();
  let seen = 0;
  for (let i = 0; i < 20; i++) seen += cache.snapshot(prefix).entries(undefined, 10_000).length;
  return `${rate(seen, start)} entries`;
});

await timed('churn: rewrite half, random', async () => {
  const start = performance.now();
  const count = objects / 2;
  for (let i = 0; i < count; i += 100) {
    storage.put(Math.trunc((i * 7919) % (objects - 100)), 100);
    if (i % 1000 === 0) {
      // A list under way now and then.
      cache.snapshot(prefix).countFrom(prefix);
      await cache.waitFor(storage.localRevision, 10_000);
    }
  }
  await cache.waitFor(storage.localRevision, 10_000);
  return rate(count, start);
});
console.log(await beyond());

for (const [name, scope] of [
  ['5,000 watchers of one key', (): string => key(42)],
  ['5,000 watchers of 5,000 keys', (i: number): string => key(i)],
] as const) {
  let received = 0;
  const stops = Array.from({ length: 5000 }, (_, i) =>
    cache.subscribe({ scope: scope(i), after: cache.revision, onEvent: () => received++, onEnd: () => undefined }),
  );
  await timed(`${name}, 2,000 events`, async () => {
    const start = performance.now();
    for (let i = 0; i < 2000; i++) storage.put(42);
    await cache.waitFor(storage.localRevision, 60_000);
    return `${rate(2000, start)} events, ${rate(received, start)} deliveries`;
  });
  for (const stop of stops) stop();
}

await timed('5,000 late subscribers', async () => {
  const start = performance.now();
  const stops = Array.from({ length: 5000 }, (_, i) =>
    cache.subscribe({ scope: key(i), after: cache.revision - 1000, onEvent: () => undefined, onEnd: () => undefined }),
  );
  for (const stop of stops) stop();
  return rate(5000, start);
});

console.log(JSON.stringify(cache.statistics));
process.exit(0);
