import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@multiplane/component-base';
import { eventually, NatsServer, TcpProxy } from '@multiplane/testing';
import { describe, expect, test } from '@jest/globals';
import { openWatchCache } from '../../cacher/open-watch-cache.ts';
import {
  all,
  bytes,
  eventsOf,
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

describe('the stream through outages of network and server', () => {
  test('repeatedly cut connections, also during catch-up: nothing is lost, repeated or out of order', async () => {
    await using setting = await shared.open();
    const { proxy, publisher, cache } = setting;
    const watcher = new Watcher(cache);
    for (let round = 0; round < 6; round++) {
      const cut = round % 2 === 0 ? proxy.cutAfter(30_000) : undefined;
      const text = 'v'.repeat(2000);
      await Promise.all(
        Array.from({ length: 60 }, (_, i) => publisher.create(`${shardKeys('a')}c/${round}-${i}`, bytes(text))),
      );
      await remove(publisher, `${shardKeys('a')}c/${round}-7`);
      if (cut === undefined) proxy.cut();
      else await cut;
    }
    await eventually(() => expectEqual(setting, watcher), patient);
    expect(watcher.restarts).toBe(0);
    expect(watcher.state.size).toBe(6 * 59);
  });

  test('a reader that starts while its connection is cut receives everything', async () => {
    await using setting = await shared.open();
    const { proxy, publisher } = setting;
    const revisions = await Promise.all(
      Array.from({ length: 400 }, (_, i) => publisher.create(`${shardKeys('a')}c/${i}`, bytes('v'.repeat(1000)))),
    );
    // The bytes of the other reader do not count.
    await setting.cache.waitFor(Math.max(...revisions), 10_000);
    const cut = proxy.cutAfter(150_000);
    const late = await setting.openThrough();
    const cache = openWatchCache(
      { prefix: '/cache/' },
      { storage: late, clock: systemClock, onError: () => undefined },
    );
    await Promise.all([cut, cache.ready]);
    expect(cache.snapshot(all).countFrom(all)).toBe(400);
    await cache.close();
  });

  test('after NATS is killed and restarted revisions and watches continue', async () => {
    await using server = await NatsServer.start();
    await using setting = await openSetting(server, await TcpProxy.start(server.port));
    const { publisher, cache } = setting;
    const first = await publisher.create(`${shardKeys('a')}c/1`, bytes('1'));
    await cache.waitFor(first, 20_000);
    const watcher = new Watcher(cache);
    await server.process.kill();
    const write = publisher.update(`${shardKeys('a')}c/1`, bytes('2'), first).catch((error: unknown) => error);
    await server.process.restart();
    await write;
    const last = await eventually(() => put(publisher, `${shardKeys('a')}c/1`, '3'), patient);
    expect(last).toBeGreaterThan(first);
    await eventually(() => expectEqual(setting, watcher), patient);
    expect(watcher.restarts).toBe(0);
  });

  test('while NATS is paused writes and consistent reads wait or fail, none returns a wrong result', async () => {
    await using server = await NatsServer.start();
    await using setting = await openSetting(server, await TcpProxy.start(server.port));
    const { publisher, cache } = setting;
    const key = `${shardKeys('a')}c/1`;
    const first = await publisher.create(key, bytes('1'));
    await cache.waitFor(first, 20_000);
    await server.process.freeze();
    const write = publisher.update(key, bytes('2'), first).then(
      () => 'written',
      (error: { code: string }) => error.code,
    );
    const read = cache.get(key).then(
      (value) => value?.value.toString(),
      () => 'refused',
    );
    expect(await Promise.race([read, write, Promise.resolve('waiting')])).toBe('waiting');
    server.process.thaw();
    expect(['written', 'OutcomeUnknown', 'Unavailable']).toContain(await write);
    expect(['1', '2', 'refused']).toContain(await read);
    const watcher = new Watcher(cache);
    await eventually(() => put(publisher, key, '3'), patient);
    await eventually(() => expectEqual(setting, watcher), patient);
  });

  test('a NATS without space refuses writes as full, serves reads, and accepts writes when there is space', async () => {
    await using server = await NatsServer.start({ jetstream: 'max_file_store: 4MB' });
    await using setting = await openSetting(server, await TcpProxy.start(server.port));
    const { publisher, cache } = setting;
    const keyOf = (i: number): string => `${shardKeys('a')}c/${String(i).padStart(3, '0')}`;
    const revisions: number[] = [];
    // Random, because values are deflated.
    const fill = async (): Promise<string> => {
      for (; revisions.length < 100;) {
        try {
          revisions.push(await publisher.create(keyOf(revisions.length), randomBytes(200_000)));
        } catch (error) {
          return (error as { code: string }).code;
        }
      }
      return 'none';
    };
    const code = await fill();
    expect(code).toBe('StorageFull');
    expect(revisions.length).toBeGreaterThan(3);
    await cache.waitFor(revisions.at(-1) as number, 20_000);
    expect(cache.snapshot(all).countFrom(all)).toBe(revisions.length);
    // A delete is a message, too: only the operator can make space.
    await expect(publisher.delete(keyOf(0), revisions[0] as number)).rejects.toMatchObject({ code: 'StorageFull' });
    const config = join(server.data, 'nats.conf');
    writeFileSync(config, readFileSync(config, 'utf8').replace('4MB', '400MB'));
    await server.process.restart();
    await eventually(() => publisher.delete(keyOf(0), revisions[0] as number), patient);
    await eventually(() => publisher.create(keyOf(999), bytes('space')), patient);
    await eventually(() => expect(cache.peek(keyOf(999))?.value.toString()).toBe('space'), patient);
    expect(cache.peek(keyOf(0))).toBeUndefined();
    expect(cache.snapshot(all).countFrom(all)).toBe(revisions.length);
  });

  test('a slow NATS delays writes and reads; nothing is lost, repeated or out of order', async () => {
    await using setting = await shared.open();
    const { proxy, openThrough, cache } = setting;
    const slow = await openThrough();
    const watcher = new Watcher(cache);
    proxy.delay(200);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => slow.create(`${shardKeys('slow')}c/${i}`, bytes(`value ${i}`))),
    );
    await eventually(() => expectEqual(setting, watcher), patient);
    proxy.delay(0);
    await slow.create(`${shardKeys('slow')}c/last`, bytes('last'));
    await eventually(() => expectEqual(setting, watcher), patient);
    expect(watcher.restarts).toBe(0);
    await slow.close();
  });

  test('a slow reader catches up in bounded batches', async () => {
    await using setting = await shared.open();
    const { publisher } = setting;
    const start = await publisher.currentRevision();
    const iterator = iterate(publisher, start);
    const first = iterator.next();
    const text = 'v'.repeat(20_000);
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 300 }, (_, i) => publisher.create(`${shardKeys('a')}c/${round}-${i}`, bytes(text))),
      );
    }
    let events = eventsOf(await first);
    let largest = 0;
    while (events < 3000) {
      const count = eventsOf(await iterator.next());
      largest = Math.max(largest, count);
      events += count;
    }
    expect(events).toBe(3000);
    // Two requests of at most 400 messages.
    expect(largest).toBeLessThanOrEqual(800);
    await iterator.return?.(undefined);
  });
});
