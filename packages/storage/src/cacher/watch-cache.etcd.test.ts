import { systemClock } from '@multiplane/component-base';
import { EtcdServer, TcpProxy, eventually } from '@multiplane/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cacheIndexConformance } from '../../test/conformance/indexes.ts';
import { storageConformance } from '../../test/conformance/index.ts';
import type { EtcdStorage } from '../etcd/etcd-storage.ts';
import { openEtcdStorage } from '../etcd/open-etcd-storage.ts';
import { openWatchCache } from './open-watch-cache.ts';
import type { BackedWatchCache } from './watch-cache.ts';

let server: EtcdServer;
let stores = 0;

beforeAll(async () => {
  server = await EtcdServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function openCache(): Promise<BackedWatchCache> {
  const storage = await openEtcdStorage({ endpoints: [server.endpoint], prefix: `/store-${stores++}` });
  const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return cache;
}

cacheIndexConformance('over etcd', openCache);
storageConformance('watch cache over etcd', openCache, { modelRuns: 20 });

describe('watch cache over a failing etcd', () => {
  const maps = '/registry/core/configmaps/';
  const bytes = (text: string): Buffer => Buffer.from(text);

  interface Broken extends AsyncDisposable {
    readonly proxy: TcpProxy;
    /** Connects to etcd without the proxy, as another process. */
    readonly other: EtcdStorage;
    readonly cache: BackedWatchCache;
  }

  async function openBroken(etcd = server): Promise<Broken> {
    const prefix = `/broken-${stores++}`;
    const proxy = await TcpProxy.start(etcd.port);
    const other = await openEtcdStorage({ endpoints: [etcd.endpoint], prefix, compactionIntervalMs: 0 });
    const storage = await openEtcdStorage({
      endpoints: [`http://127.0.0.1:${proxy.port}`],
      prefix,
      compactionIntervalMs: 0,
      requestTimeoutMs: 2000,
    });
    const cache = openWatchCache({}, { storage, clock: systemClock, onError: () => undefined });
    await cache.ready;
    return {
      proxy,
      other,
      cache,
      async [Symbol.asyncDispose]() {
        await Promise.all([cache.close(), other.close()]);
        await proxy[Symbol.asyncDispose]();
      },
    };
  }

  function record(cache: BackedWatchCache): { revisions: number[]; ends: string[] } {
    const revisions: number[] = [];
    const ends: string[] = [];
    cache.subscribe({
      scope: maps,
      after: cache.revision,
      onEvent: ({ revision }) => revisions.push(revision),
      onEnd: (reason) => ends.push((reason as { code?: string }).code ?? reason.message),
    });
    return { revisions, ends };
  }

  const state = (cache: BackedWatchCache): string[] =>
    cache
      .snapshot(maps)
      .entries(undefined, Infinity)
      .map((entry) => `${entry.key}=${entry.value.toString()}@${entry.revision}`);

  test('repeatedly cut connections, also within messages: no event is lost, repeated or out of order', async () => {
    await using broken = await openBroken();
    const { proxy, other, cache } = broken;
    const seen = record(cache);
    const written: number[] = [];
    for (let round = 0; round < 8; round++) {
      const cut = round % 2 === 0 ? proxy.cutAfter(20_000) : undefined;
      const value = Buffer.alloc(2000, 'v');
      const writes = Array.from({ length: 50 }, (_, i) => other.create(`${maps}a/${round}-${i}`, value));
      written.push(...(await Promise.all(writes)));
      if (cut === undefined) proxy.cut();
      else await cut;
    }
    await eventually(() => expect(seen.revisions).toHaveLength(written.length));
    expect(seen.revisions).toEqual(written.toSorted((a, b) => a - b));
    expect(seen.ends).toEqual([]);
    expect(cache.snapshot(maps).countFrom(maps)).toBe(written.length);
  });

  test('a delete that is compacted during an outage is not missed: subscriptions end, the contents are right', async () => {
    await using broken = await openBroken();
    const { proxy, other, cache } = broken;
    const revisions = await Promise.all(['a', 'b', 'c'].map((name) => other.create(`${maps}x/${name}`, bytes('1'))));
    await cache.freshRevision();
    const seen = record(cache);
    proxy.refuse();
    await other.update(`${maps}x/b`, bytes('2'), revisions[1] as number);
    const removed = await other.delete(`${maps}x/a`, revisions[0] as number);
    await other.compact(removed);
    expect(cache.peek(`${maps}x/a`)).toBeDefined();
    proxy.accept();
    await eventually(() => expect(cache.isReady() && cache.revision >= removed).toBe(true));
    expect(seen).toEqual({ revisions: [], ends: ['Compacted'] });
    const items = (await other.list(maps)).items.map((item) => `${item.key}=${item.value.toString()}@${item.revision}`);
    expect(state(cache)).toEqual(items);
    expect(items).toHaveLength(2);
  });

  test('a process whose network was paused does not answer consistent reads from old state', async () => {
    await using broken = await openBroken();
    const { proxy, other, cache } = broken;
    const first = await other.create(`${maps}a/1`, bytes('old'));
    expect((await cache.get(`${maps}a/1`))?.revision).toBe(first);
    proxy.pause();
    const read = cache.get(`${maps}a/1`);
    const second = await other.update(`${maps}a/1`, bytes('new'), first);
    // Reads that were requested before the end of the pause return the write or an error.
    const later = [cache.get(`${maps}a/1`), cache.list(maps).then(({ items }) => items[0])];
    proxy.resume();
    expect([first, second]).toContain((await read)?.revision);
    for (const answer of await Promise.all(later)) expect(answer?.revision).toBe(second);
    expect((await cache.list(maps)).items.map((item) => item.value.toString())).toEqual(['new']);
  });

  test('while etcd is paused consistent reads wait, afterwards they are right', async () => {
    await using etcd = await EtcdServer.start();
    await using broken = await openBroken(etcd);
    const { other, cache } = broken;
    const first = await other.create(`${maps}a/1`, bytes('old'));
    await cache.freshRevision();
    await etcd.process.freeze();
    let answered = false;
    const write = other.update(`${maps}a/1`, bytes('new'), first);
    const read = cache.get(`${maps}a/1`).finally(() => (answered = true));
    const outcome = read.then(
      (value) => value?.value.toString(),
      () => 'refused',
    );
    expect([cache.peek(`${maps}a/1`)?.revision, answered]).toEqual([first, false]);
    etcd.process.thaw();
    const second = await write;
    expect(['old', 'new', 'refused']).toContain(await outcome);
    expect((await cache.get(`${maps}a/1`))?.revision).toBe(second);
  });

  test('after etcd is killed and restarted the cache resumes', async () => {
    await using etcd = await EtcdServer.start();
    await using broken = await openBroken(etcd);
    const { other, cache } = broken;
    const first = await other.create(`${maps}a/1`, bytes('1'));
    await cache.freshRevision();
    const seen = record(cache);
    await etcd.process.kill();
    await etcd.process.start();
    const second = await eventually(async () => await other.update(`${maps}a/1`, bytes('2'), first));
    await eventually(() => expect(seen.revisions).toEqual([second]));
    expect(seen.ends).toEqual([]);
    expect(await eventually(() => cache.freshRevision())).toBeGreaterThanOrEqual(second);
    expect(state(cache)).toEqual([`${maps}a/1=2@${second}`]);
  });

  test('revisions of another store in the same etcd do not block readers', async () => {
    await using broken = await openBroken();
    await using otherStore = await openBroken();
    const { cache } = broken;
    for (let i = 0; i < 5; i++) {
      const burnt = await otherStore.other.create(`${maps}a/${i}`, bytes('x'));
      expect(await cache.freshRevision()).toBeGreaterThanOrEqual(burnt);
      expect(cache.revision).toBeGreaterThanOrEqual(burnt);
    }
    expect(state(cache)).toEqual([]);
    expect(cache.snapshot('/registry/').entries(undefined, 10)).toEqual([]);
  });

  test('a restarted cache serves revisions from before the restart', async () => {
    await using broken = await openBroken();
    const { other, cache } = broken;
    const start = cache.revision;
    const first = await other.create(`${maps}a/1`, bytes('1'));
    const second = await other.update(`${maps}a/1`, bytes('2'), first);
    const again = openWatchCache({}, { storage: other, clock: systemClock, onError: () => undefined });
    await again.ready;
    expect(again.oldestRevision).toBeLessThanOrEqual(start);
    expect(again.snapshot(maps, first).entries(undefined, 1)[0]?.value.toString()).toBe('1');
    const revisions: number[] = [];
    again.subscribe({
      scope: maps,
      after: start,
      onEvent: ({ revision }) => revisions.push(revision),
      onEnd: () => undefined,
    });
    expect(revisions).toEqual([first, second]);
    await again.close();
  });
});
