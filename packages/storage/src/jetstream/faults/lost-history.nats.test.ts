import { cpSync, rmSync } from 'node:fs';
import { eventually, NatsServer, TcpProxy } from '@multiplane/testing';
import { describe, expect, test } from '@jest/globals';
import {
  all,
  bytes,
  expectEqual,
  iterate,
  openSetting,
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

  test.each(['purged', 'purged before a write', 'deleted', 'restored from an old copy'])(
    'the stream is %s while nothing is written: readers notice, list again, and watches of a shard end so that it publishes again',
    async (how) => {
      await using server = await NatsServer.start();
      await using setting = await openSetting(server, await TcpProxy.start(server.port));
      const { publisher, cache, stream } = setting;
      await publisher.create(`${shardKeys('a')}c/old`, bytes('1'));
      await server.process.stop();
      cpSync(server.data, `${server.data}.copy`, { recursive: true });
      await server.process.start();
      await eventually(() => put(publisher, `${shardKeys('a')}c/old`, '2'), patient);
      const last = await publisher.create(`${shardKeys('b')}c/late`, bytes('1'));
      await cache.waitFor(last, 20_000);
      const watcher = new Watcher(cache);
      const watches = [shardKeys('a'), shardKeys('b'), '/cache/'].map(async (scope) => {
        for await (const _ of publisher.watch(scope, { after: last, signal: new AbortController().signal }));
      });
      if (how === 'deleted') await server.loseStream(stream);
      else if (how.startsWith('purged')) await server.purgeStream(stream);
      else {
        await server.process.stop();
        rmSync(server.data, { recursive: true });
        cpSync(`${server.data}.copy`, server.data, { recursive: true });
        await server.process.start();
      }
      if (how.endsWith('write')) await publisher.create(`${shardKeys('c')}c/other`, bytes('1'));
      for (const watch of watches) await expect(watch).rejects.toMatchObject({ code: 'Compacted' });
      await eventually(() => expectEqual(setting, watcher), patient);
      expect([...watcher.state]).toEqual(
        how.startsWith('restored')
          ? [[`${shardKeys('a')}c/old`, '1']]
          : how.endsWith('write')
            ? [[`${shardKeys('c')}c/other`, '1']]
            : [],
      );
      rmSync(`${server.data}.copy`, { recursive: true });
    },
    60_000,
  );

  test('the stream is deleted again and again while several processes write: writes continue, readers see them', async () => {
    await using server = await NatsServer.start();
    await using setting = await openSetting(server, await TcpProxy.start(server.port));
    const { publisher, cache, stream } = setting;
    const publishers = [publisher, await setting.openAround(), await setting.openAround()];
    const watcher = new Watcher(cache);
    const stopped = new AbortController();
    let written = 0;
    const writers = publishers.map(async (one, writer) => {
      for (let i = 0; !stopped.signal.aborted; i++) {
        const key = `${shardKeys(`s${writer}`)}c/${i % 50}`;
        // Refused while the stream is missing, or conflicts with what the writer read before.
        const isWritten = await put(one, key, `${i}`).then(
          () => true,
          () => false,
        );
        if (isWritten) written++;
      }
    });
    for (let round = 0; round < 20; round++) {
      const enough = written + 30;
      await eventually(() => expect(written).toBeGreaterThanOrEqual(enough), patient);
      await server.loseStream(stream);
    }
    const enough = written + 30;
    await eventually(() => expect(written).toBeGreaterThanOrEqual(enough), patient);
    stopped.abort();
    await Promise.all(writers);
    await eventually(() => expectEqual(setting, watcher), patient);
  }, 180_000);

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
