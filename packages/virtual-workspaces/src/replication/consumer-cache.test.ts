import { afterEach, describe, expect, test } from '@jest/globals';
import { parseJson, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { encodeForStorage } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import { cacheKey, cacheResourcePrefix, MemoryStorage, openWatchCache, type CacheEvent } from '@multiplane/storage';
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

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function fixture() {
  const storage = new MemoryStorage();
  const source = openWatchCache(
    { prefix: cacheResourcePrefix(kind, '*') },
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
  const put = async (namespace: string, name: string): Promise<void> => {
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
    const revision = await storage.create(
      cacheKey(kind, { shard: 'root', cluster: provider, namespace, name }),
      encodeForStorage(object),
    );
    await source.waitFor(revision, 1_000);
  };
  consumers.namespaces.set(anna, new Set(['default']));
  consumers.namespaces.set(berta, new Set(['default', 'extra']));
  await put('default', 'debian');
  await put('extra', 'fedora');
  await put('extra', 'gentoo');
  return { cache, consumers, put, source };
}

const keysOf = (entries: readonly { readonly key: string }[]): string[] =>
  entries.map(({ key }) => key.slice(prefix.length));

describe('a source as its consumers read it', () => {
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
});
