import { afterEach, describe, expect, test } from '@jest/globals';
import { parseJson, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { encodeForStorage } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import {
  cacheKey,
  CompactedError,
  cacheResourcePrefix,
  MemoryStorage,
  openWatchCache,
  type CacheEvent,
  type WatchBatch,
  type WatchOptions,
} from '@multiplane/storage';
import { eventually } from '@multiplane/testing';
import { ConsumerCache } from './consumer-cache.ts';
import { ConsumerObjects } from './consumer-entry.ts';
import type { ConsumerChange, Consumers } from './consumers.ts';

const kind = { group: 'cloud.example.com', resource: 'images', identity: 'f00d' };
const provider = 'provider' as LogicalClusterName;
const [anna, berta] = ['anna', 'berta'] as LogicalClusterName[] as [LogicalClusterName, LogicalClusterName];
const prefix = '/virtual/cloud.example.com/images/f00d/';

class FakeConsumers implements Consumers {
  readonly namespaces = new Map<LogicalClusterName, Set<string>>();
  readonly #listeners = new Set<(change: ConsumerChange) => void>();

  list(): readonly LogicalClusterName[] {
    return [...this.namespaces.keys()];
  }

  hasNamespace(consumer: LogicalClusterName, namespace: string): boolean {
    return this.namespaces.get(consumer)?.has(namespace) ?? false;
  }

  subscribe(listener: (change: ConsumerChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(consumer: LogicalClusterName, namespace: string, isPresent: boolean): void {
    if (isPresent) this.namespaces.get(consumer)?.add(namespace);
    else this.namespaces.get(consumer)?.delete(namespace);
    for (const listener of this.#listeners) listener({ consumer, namespace, isPresent });
  }
}

/** A store whose watch can be interrupted, as by a restart of the cache server, which forgets its history. */
class ForgetfulStorage extends MemoryStorage {
  #isAway = Promise.withResolvers<never>();
  #isBack = Promise.resolve();

  /** Resolves `back` to let the reader list again. */
  forget(): () => void {
    const back = Promise.withResolvers<void>();
    this.#isBack = back.promise;
    this.#isAway.reject(new CompactedError(0, 1));
    this.#isAway = Promise.withResolvers<never>();
    this.#isAway.promise.catch(() => {});
    return back.resolve;
  }

  override async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch> {
    await this.#isBack;
    const away = this.#isAway.promise;
    away.catch(() => {});
    const batches = super.watch(prefix, options)[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([batches.next(), away]);
      if (next.done === true) return;
      yield next.value;
    }
  }

  override async list(...parameters: Parameters<MemoryStorage['list']>): ReturnType<MemoryStorage['list']> {
    await this.#isBack;
    return super.list(...parameters);
  }
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function fixture() {
  const storage = new ForgetfulStorage();
  const source = openWatchCache(
    { prefix: cacheResourcePrefix(kind, '*'), retryDelayMs: () => 1 },
    { storage, clock: systemClock, onError: () => {} },
  );
  await source.ready;
  const consumers = new FakeConsumers();
  const sourcePrefix = `${cacheResourcePrefix(kind, 'root')}${provider}/`;
  const cache = new ConsumerCache(
    { sourcePrefix, prefix, namespaced: true },
    { source, consumers, clock: systemClock },
  );
  closing.push(
    () => cache.close(),
    () => source.close(),
  );
  const put = async (namespace: string, name: string, isFollowed = true): Promise<void> => {
    const object = {
      apiVersion: 'cloud.example.com/v1',
      kind: 'Image',
      metadata: {
        name,
        namespace,
        uid: `uid-${name}`,
        creationTimestamp: '2026-11-22T10:00:00Z',
        annotations: {
          'a.example.com/note': 'say "kcp.io/cluster"',
          'cache.kcp.io/original-resource-UID': 'x',
          'cache.kcp.io/original-resource-version': '1',
          'kcp.io/cluster': 'provider',
          'kcp.io/shard': 'root',
        },
      },
      spec: { annotations: { 'kcp.io/cluster': 'of the spec' } },
    };
    const revision = await storage.create(keyOf(namespace, name), encodeForStorage(object));
    if (isFollowed) await source.waitFor(revision, 1_000);
  };
  const keyOf = (namespace: string, name: string): string =>
    cacheKey(kind, { shard: 'root', cluster: provider, namespace, name });
  const remove = async (namespace: string, name: string): Promise<void> => {
    const key = keyOf(namespace, name);
    await storage.delete(key, (await storage.get(key))?.revision ?? 0);
  };
  consumers.namespaces.set(anna, new Set(['default']));
  consumers.namespaces.set(berta, new Set(['default', 'extra']));
  await put('default', 'debian');
  await put('extra', 'fedora');
  await put('extra', 'gentoo');
  return { cache, consumers, put, remove, source, storage };
}

const keysOf = (entries: readonly { readonly key: string }[]): string[] =>
  entries.map(({ key }) => key.slice(prefix.length));

describe('a source as its consumers read it', () => {
  test('counts what each consumer sees, from any key on', async () => {
    const { cache, consumers, put } = await fixture();
    await put('hidden', 'alpine');
    await put('visible', 'void');
    consumers.namespaces.get(berta)?.add('visible');
    for (const scope of [prefix, `${prefix}${anna}/`, `${prefix}${berta}/`, `${prefix}${berta}/extra/`]) {
      const snapshot = cache.snapshot(scope);
      const all = snapshot.entries(undefined, Number.POSITIVE_INFINITY);
      expect([scope, snapshot.countFrom(scope)]).toEqual([scope, all.length]);
      expect(snapshot.countFrom('')).toBe(all.length);
      for (const [index, { key }] of all.entries()) {
        expect([key, snapshot.countFrom(key)]).toEqual([key, all.length - index]);
        expect(snapshot.countFrom(`${key}\u0000`)).toBe(all.length - index - 1);
      }
    }
  });

  test('shows each consumer the objects of its namespaces, under its own logical cluster', async () => {
    const { cache } = await fixture();
    expect(keysOf(cache.listCurrent(`${prefix}${anna}/`))).toEqual(['anna/default/debian']);
    expect(keysOf(cache.listCurrent(`${prefix}${berta}/extra/`))).toEqual(['berta/extra/fedora', 'berta/extra/gentoo']);
    expect(cache.peek(`${prefix}${anna}/extra/fedora`)).toBeUndefined();
    const entry = cache.peek(`${prefix}${berta}/extra/fedora`);
    const shown = parseJson(entry?.value ?? Buffer.alloc(0)) as unknown as KubeObject;
    expect(shown.metadata.annotations).toEqual({
      'a.example.com/note': 'say "kcp.io/cluster"',
      'kcp.io/cluster': 'berta',
    });
    expect(shown['spec']).toEqual({ annotations: { 'kcp.io/cluster': 'of the spec' } });
    const parsed = new ConsumerObjects({ maxBytes: 1_000_000 }).get(entry as never);
    expect(parsed.metadata.annotations).toEqual(shown.metadata.annotations);
  });

  test('is paged over all consumers as one list', async () => {
    const { cache } = await fixture();
    const snapshot = cache.snapshot(prefix);
    const all = ['anna/default/debian', 'berta/default/debian', 'berta/extra/fedora', 'berta/extra/gentoo'];
    expect(keysOf(snapshot.entries(undefined, 10))).toEqual(all);
    const pages: string[] = [];
    let from: string | undefined;
    for (;;) {
      const page = snapshot.entries(from, 1);
      pages.push(...keysOf(page));
      const last = page.at(-1);
      if (last === undefined) break;
      from = `${last.key}\u0000`;
    }
    expect(pages).toEqual(all);
    expect(snapshot.countFrom(`${prefix}berta/extra/fedora`)).toBe(2);
  });

  test('sends namespaces that come and go as events, also to a watch that resumes', async () => {
    const { cache, consumers, put, source } = await fixture();
    const seen: string[] = [];
    const onEvent = ({ current, previous }: CacheEvent): void =>
      void seen.push(`${current === undefined ? '-' : '+'}${keysOf([(current ?? previous) as { key: string }])[0]}`);
    const after = source.revision;
    const stop = cache.subscribe({ scope: `${prefix}${anna}/`, after, onEvent, onEnd: () => {} });
    consumers.set(anna, 'extra', true);
    expect(seen).toEqual(['+anna/extra/fedora', '+anna/extra/gentoo']);
    await put('extra', 'slackware');
    await eventually(async () => expect(seen.slice(2)).toEqual(['+anna/extra/slackware']));
    stop();
    consumers.set(anna, 'extra', false);
    seen.length = 0;
    cache.subscribe({ scope: `${prefix}${anna}/`, after: source.revision, onEvent, onEnd: () => {} })();
    expect(seen.sort()).toEqual(['-anna/extra/fedora', '-anna/extra/gentoo', '-anna/extra/slackware']);
  });

  test('sends what a watch missed while the source loaded again, and keeps it open', async () => {
    const { cache, put, remove, source, storage } = await fixture();
    const seen: string[] = [];
    let ended = false;
    const before = source.revision;
    cache.subscribe({
      scope: `${prefix}${berta}/`,
      after: before,
      onEvent: ({ current, previous, revision }) => {
        const { key } = (current ?? previous) as { key: string };
        const type = current === undefined ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
        seen.push(`${type} ${key.slice(prefix.length)} ${revision - before}`);
      },
      onEnd: () => (ended = true),
    });
    const isBack = storage.forget();
    await remove('extra', 'fedora');
    await put('extra', 'alpine', false);
    await remove('default', 'debian');
    await put('default', 'debian', false);
    isBack();
    const missed = ['ADDED berta/extra/alpine 2', 'MODIFIED berta/default/debian 4', 'DELETED berta/extra/fedora 4'];
    await eventually(async () => expect(seen).toEqual(missed));
    await put('extra', 'void');
    expect(seen.slice(3)).toEqual(['ADDED berta/extra/void 5']);
    expect(ended).toBe(false);
    // Another process may have sent changes in between to a watch that resumes here.
    expect(() =>
      cache.subscribe({ scope: `${prefix}${berta}/`, after: before + 1, onEvent: () => {}, onEnd: () => {} }),
    ).toThrow(CompactedError);
  });

  test('ends the watches of a consumer that has gone, and no others', async () => {
    const { cache, consumers, source } = await fixture();
    const ended: string[] = [];
    const follow = (scope: string): void =>
      void cache.subscribe({ scope, after: source.revision, onEvent: () => {}, onEnd: () => ended.push(scope) });
    for (const scope of [prefix, `${prefix}${anna}/`, `${prefix}${anna}/default/debian`, `${prefix}${berta}/`])
      follow(scope);
    consumers.set(anna, '', false);
    expect(ended).toEqual([`${prefix}${anna}/`, `${prefix}${anna}/default/debian`]);
    follow(`${prefix}${anna}/`);
    expect(ended).toHaveLength(2);
  });
});
