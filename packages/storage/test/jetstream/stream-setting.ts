import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '@multiplane/component-base';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { openWatchCache } from '../../src/cacher/open-watch-cache.ts';
import type { BackedWatchCache } from '../../src/cacher/watch-cache.ts';
import { isStorageError } from '../../src/errors.ts';
import type { Storage, WatchBatch } from '../../src/interface.ts';
import type { JetStreamStorage } from '../../src/jetstream/jetstream-storage.ts';
import { openJetStreamStorage, type JetStreamStorageOptions } from '../../src/jetstream/open-jetstream-storage.ts';

export const shardKeys = (shard: string): string => `/cache/apis.kcp.io/apiexports/customresources/${shard}/`;
export const all = '/cache/apis.kcp.io/apiexports/customresources/';
/** Options of `eventually`. */
export const patient = { timeout: 20_000 };
export const bytes = (text: string): Buffer => Buffer.from(text);

type More = Partial<Omit<JetStreamStorageOptions, 'servers' | 'stream' | 'subjectPrefix'>>;

export interface Setting<Proxy> extends AsyncDisposable {
  readonly stream: string;
  readonly proxy: Proxy;
  /** Connects to NATS without the proxy, as a shard does. */
  readonly publisher: JetStreamStorage;
  /** A cache server behind the proxy. */
  readonly cache: BackedWatchCache;
  /** Opens another store on the stream, without or behind the proxy; the caller closes it. */
  readonly openAround: (more?: More) => Promise<JetStreamStorage>;
  readonly openThrough: (more?: More) => Promise<JetStreamStorage>;
}

type NatsLike = AsyncDisposable & { readonly url: string; readonly port: number };
type ProxyLike = AsyncDisposable & { readonly port: number };

/** Launchers that the suite injects, because the package does not depend on them. */
interface Launchers<Server, Proxy> {
  readonly server: () => Promise<Server>;
  /** To that port. */
  readonly proxy: (port: number) => Promise<Proxy>;
}

export interface SettingOptions {
  /** Milliseconds since the epoch; for the age of tombstones. */
  readonly now?: () => number;
  /** For audits of the stream. */
  readonly clock?: Clock;
}

/** One server for all tests of a suite, with a separate setting for each test. */
export function sharedServer<Server extends NatsLike, Proxy extends ProxyLike>(
  launchers: Launchers<Server, Proxy>,
): {
  readonly server: Server;
  open(options?: SettingOptions): Promise<Setting<Proxy>>;
} {
  let server: Server;
  beforeAll(async () => {
    server = await launchers.server();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });
  return {
    get server() {
      return server;
    },
    open: async (options) => openSetting(server, await launchers.proxy(server.port), options),
  };
}

/** A new stream, with a shard that publishes and a cache server that reads through the proxy. */
export async function openSetting<Proxy extends ProxyLike>(
  server: NatsLike,
  proxy: Proxy,
  { now, clock }: SettingOptions = {},
): Promise<Setting<Proxy>> {
  const stream = `faults-${randomUUID()}`;
  const open = (url: string, more?: More): Promise<JetStreamStorage> =>
    openJetStreamStorage(
      { servers: [url], stream, subjectPrefix: stream, sweepIntervalMs: 0, ...more },
      { clock, random: () => 0 },
    );
  const openAround = (more?: More): Promise<JetStreamStorage> => open(server.url, more);
  const openThrough = (more?: More): Promise<JetStreamStorage> => open(`nats://127.0.0.1:${proxy.port}`, more);
  const publisher = await openAround({ requestTimeoutMs: 2000, tombstoneMs: 60_000, now });
  const storage = await openThrough({ requestTimeoutMs: 2000 });
  const cache = openWatchCache({ prefix: '/cache/' }, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return {
    stream,
    proxy,
    publisher,
    cache,
    openAround,
    openThrough,
    async [Symbol.asyncDispose]() {
      await Promise.all([cache.close(), publisher.close()]);
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** A watcher that applies its events, and lists again after an expired watch, as every client does. */
export class Watcher {
  readonly state = new Map<string, string>();
  readonly problems: string[] = [];
  /** Number of restarts. */
  restarts = -1;
  #revision = 0;
  readonly #cache: BackedWatchCache;

  constructor(cache: BackedWatchCache) {
    this.#cache = cache;
    this.#begin();
  }

  #begin(): void {
    this.restarts++;
    const snapshot = this.#cache.snapshot(all);
    this.state.clear();
    for (const { key, value } of snapshot.entries(undefined, Infinity)) this.state.set(key, value.toString());
    this.#revision = snapshot.revision;
    this.#cache.subscribe({
      scope: all,
      after: snapshot.revision,
      onEvent: ({ current, previous, revision }) => {
        const key = (current ?? previous)?.key ?? '';
        if (revision < this.#revision) this.problems.push(`${key}: ${revision} after ${this.#revision}`);
        this.#revision = revision;
        const known = this.state.get(key);
        if (known !== previous?.value.toString())
          this.problems.push(`${key}: knew ${known}, received ${previous?.value.toString()}`);
        if (current === undefined) this.state.delete(key);
        else this.state.set(key, current.value.toString());
      },
      onEnd: (reason) => {
        if (isStorageError(reason, 'Compacted')) this.#begin();
      },
    });
  }
}

export function iterate(store: Storage, after: number): AsyncIterator<WatchBatch> {
  return store.watch('/cache/', { after, signal: new AbortController().signal })[Symbol.asyncIterator]();
}

export function eventsOf(result: IteratorResult<WatchBatch, unknown>): number {
  return result.done === true ? 0 : result.value.events.length;
}

/** The content of the stream according to a new reader. */
export async function truth(store: Storage): Promise<Map<string, string>> {
  return new Map((await store.list(all)).items.map(({ key, value }) => [key, value.toString()]));
}

/** For `eventually`: once writes stop, cache and watcher are equal to the stream. */
export async function expectEqual(
  { publisher, cache }: Pick<Setting<unknown>, 'publisher' | 'cache'>,
  watcher: Watcher,
): Promise<void> {
  const expected = await truth(publisher);
  const state = cache.snapshot(all).entries(undefined, Infinity);
  expect(new Map(state.map(({ key, value }) => [key, value.toString()]))).toEqual(expected);
  expect(watcher.state).toEqual(expected);
  expect(watcher.problems).toEqual([]);
}

export async function put(store: Storage, key: string, text: string): Promise<number> {
  const known = await store.get(key);
  return known === undefined
    ? await store.create(key, bytes(text))
    : await store.update(key, bytes(text), known.revision);
}

export async function remove(store: Storage, key: string): Promise<void> {
  const known = await store.get(key);
  if (known !== undefined) await store.delete(key, known.revision);
}
