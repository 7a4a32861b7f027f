import { afterEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { cacheResourcePrefix, openWatchCache, type CacheEvent, type WatchCache } from '@multiplane/storage';
import { FakeClock } from '@multiplane/testing';
import { FakeCacheServer } from '../../test/fake-cache-server.ts';
import { RemoteCachedStorage } from './remote-cached-storage.ts';

const identity = 'f00d';
const resource = { group: 'cloud.example.com', version: 'v1', resource: 'cpuflavors' };
const prefix = cacheResourcePrefix({ ...resource, identity }, '*');

const flavor = (name: string, revision: number, cpus: number): JsonObject => ({
  apiVersion: 'cloud.example.com/v1',
  kind: 'CpuFlavor',
  metadata: {
    name,
    uid: `uid-${name}`,
    creationTimestamp: '2026-11-22T10:00:00Z',
    resourceVersion: String(revision),
    annotations: { 'kcp.io/cluster': 'provider', 'kcp.io/shard': 'root' },
  },
  spec: { cpus },
});

let cache: WatchCache | undefined;
afterEach(() => cache?.close());

function follow(server: FakeCacheServer, clock: FakeClock): { readonly cache: WatchCache; readonly errors: unknown[] } {
  const errors: unknown[] = [];
  const storage = new RemoteCachedStorage(
    { resource, identity, pageSize: 1 },
    { transport: server.transport, clock, random: Math.random },
  );
  cache = openWatchCache(
    { prefix, retryDelayMs: () => 1 },
    { storage, clock, onError: (error) => void errors.push(error) },
  );
  return { cache, errors };
}

describe('cached objects of a cache server in another process', () => {
  test('are listed in pages, followed, and resumed where a stream ends', async () => {
    const server = new FakeCacheServer();
    const clock = new FakeClock();
    server.pages = [
      { kind: 'CpuFlavorList', metadata: { resourceVersion: '7', continue: 'next' }, items: [flavor('large', 7, 16)] },
      { kind: 'CpuFlavorList', metadata: { resourceVersion: '7' }, items: [flavor('small', 3, 1)] },
    ];
    const { cache: followed, errors } = follow(server, clock);
    await followed.ready;
    expect(errors).toEqual([]);
    expect(followed.revision).toBe(7);
    const names = (): string[] => followed.listCurrent(prefix).map(({ key }) => key.slice(prefix.length));
    expect(names()).toEqual(['root/provider/large', 'root/provider/small']);
    const events: CacheEvent[] = [];
    followed.subscribe({ scope: prefix, after: 7, onEvent: (event) => events.push(event), onEnd: () => {} });
    await clock.advance(0);
    expect(server.streams).toHaveLength(1);
    server.send({ type: 'MODIFIED', object: flavor('small', 9, 2) });
    server.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '12' } } });
    await clock.advance(0);
    expect(followed.revision).toBe(12);
    expect(events.map(({ revision }) => revision)).toEqual([9]);
    expect(followed.isFresh).toBe(true);
    server.streams[0]?.end();
    await clock.advance(1);
    expect(server.streams).toHaveLength(2);
    expect(server.requests.at(-1)).toContain('resourceVersion=12');
    server.send({ type: 'DELETED', object: flavor('large', 13, 16) });
    await clock.advance(0);
    expect(names()).toEqual(['root/provider/small']);
  });

  test('are kept while the cache server is away, and listed again when it has forgotten the revision', async () => {
    const server = new FakeCacheServer();
    const clock = new FakeClock();
    server.pages = [{ metadata: { resourceVersion: '7' }, items: [flavor('small', 3, 1)] }];
    const { cache: followed } = follow(server, clock);
    await followed.ready;
    await clock.advance(0);
    expect(server.streams).toHaveLength(1);
    server.streams[0]?.destroy(new Error('connection reset'));
    expect(followed.listCurrent(prefix)).toHaveLength(1);
    await clock.advance(1);
    expect(server.streams).toHaveLength(2);
    server.pages = [{ metadata: { resourceVersion: '20' }, items: [flavor('large', 19, 16)] }];
    server.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } });
    await clock.advance(1);
    expect(followed.revision).toBe(20);
    expect(followed.listCurrent(prefix).map(({ key }) => key.slice(prefix.length))).toEqual(['root/provider/large']);
  });

  test('are followed by a new request when the cache server stops to respond without closing the connection', async () => {
    const server = new FakeCacheServer();
    const clock = new FakeClock();
    server.pages = [{ metadata: { resourceVersion: '7' }, items: [flavor('small', 3, 1)] }];
    const { cache: followed } = follow(server, clock);
    await followed.ready;
    await clock.advance(0);
    expect(server.streams).toHaveLength(1);
    await clock.advance(60_000);
    server.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '12' } } });
    await clock.advance(0);
    expect(followed.revision).toBe(12);
    await clock.advance(60_000);
    expect(server.streams).toHaveLength(1);
    await clock.advance(40_000);
    expect(server.streams).toHaveLength(2);
    expect(server.requests.at(-1)).toContain('resourceVersion=12');
    expect(followed.listCurrent(prefix)).toHaveLength(1);
  });
});
