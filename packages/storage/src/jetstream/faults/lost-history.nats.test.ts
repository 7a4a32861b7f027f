import { eventually, NatsServer, TcpProxy } from '@multiplane/testing';
import { describe, expect, test } from '@jest/globals';
import {
  all,
  bytes,
  expectEqual,
  iterate,
  patient,
  put,
  remove,
  shardKeys,
  sharedServer,
  Watcher,
} from '../../../test/jetstream/stream-setting.ts';

const shared = sharedServer({ server: () => NatsServer.start(), proxy: (port) => TcpProxy.start(port) });

describe('lost history of the stream', () => {
  test('the stream is lost and recreated: old revisions are refused, watchers restart once and then see the truth', async () => {
    await using setting = await shared.open();
    const { publisher, cache, stream } = setting;
    const old = await publisher.create(`${shardKeys('a')}c/lost`, bytes('1'));
    await publisher.create(`${shardKeys('b')}c/back`, bytes('1'));
    await cache.freshRevision();
    const watcher = new Watcher(cache);
    const part = publisher.watch(shardKeys('a'), { after: old, signal: new AbortController().signal });
    const partEnded = (async () => {
      for await (const _ of part);
    })().catch((error: unknown) => error);

    await shared.server.loseStream(stream);
    const revision = await eventually(() => put(publisher, `${shardKeys('b')}c/back`, '1'), patient);

    expect(revision).toBeGreaterThan(old);
    await eventually(() => expectEqual(setting, watcher), patient);
    expect([...watcher.state]).toEqual([[`${shardKeys('b')}c/back`, '1']]);
    expect(watcher.restarts).toBe(1);
    await expect(publisher.list(all, { revision: old })).rejects.toMatchObject({ code: 'Compacted' });
    await expect(iterate(publisher, old).next()).rejects.toMatchObject({ code: 'Compacted' });
    // The publisher gets the error as well, and publishes again.
    expect(await partEnded).toMatchObject({ code: 'Compacted' });
    expect(() => cache.snapshot(all, old)).toThrow('compacted');
    await expect(publisher.update(`${shardKeys('a')}c/lost`, bytes('2'), old)).rejects.toMatchObject({
      code: 'RevisionConflict',
    });
  });

  test('a delete is seen by all watchers of the object, and its tombstone is swept', async () => {
    let now = Date.now();
    await using setting = await shared.open({ now: () => now });
    const { publisher, cache, proxy } = setting;
    const sweeping = await setting.openAround({ sweepIntervalMs: 3600_000, tombstoneMs: 60_000, now: () => now });
    const keys = ['a', 'b', 'c'].map((name) => `${shardKeys('a')}c/${name}`);
    for (const key of keys) await publisher.create(key, bytes('1'));
    await cache.freshRevision();
    const watcher = new Watcher(cache);
    const behind = await publisher.currentRevision();
    proxy.refuse();
    await remove(publisher, keys[0] as string);
    await remove(publisher, keys[1] as string);
    await put(publisher, keys[1] as string, 'again');
    expect(await sweeping.sweep()).toBe(0);
    now += 2 * 3600_000;
    expect(await sweeping.sweep()).toBe(1);
    now += 2 * 3600_000;
    expect(await sweeping.sweep()).toBe(0);
    await expect(iterate(publisher, behind).next()).rejects.toMatchObject({ code: 'Compacted' });
    proxy.accept();
    await eventually(() => expectEqual(setting, watcher), patient);
    // It was disconnected while the tombstone was swept: it had to list again, so that it does not keep the deleted object.
    expect(watcher.restarts).toBe(1);
    expect([...watcher.state.values()]).toEqual(['again', '1']);
    // A key whose tombstone was swept can be created.
    await publisher.create(keys[0] as string, bytes('new'));
    await eventually(() => expectEqual(setting, watcher), patient);
    expect(watcher.restarts).toBe(1);
    await sweeping.close();
  });
});
