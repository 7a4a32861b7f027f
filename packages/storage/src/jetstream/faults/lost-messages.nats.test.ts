// oxlint-disable tests/no-real-time-with-fake-clock -- messages come from a NATS server
import { systemClock } from '@multiplane/component-base';
import { eventually, FakeClock, NatsServer, TcpProxy } from '@multiplane/testing';
import { describe, expect, test } from '@jest/globals';
import { openWatchCache } from '../../cacher/open-watch-cache.ts';
import {
  bytes,
  expectEqual,
  patient,
  put,
  remove,
  type Setting,
  shardKeys,
  sharedServer,
  Watcher,
} from '../../../test/jetstream/stream-setting.ts';

const shared = sharedServer({ server: () => NatsServer.start(), proxy: (port) => TcpProxy.start(port) });
const keys = ['kept', 'lost', 'replaced'].map((name) => `${shardKeys('a')}c/${name}`);
const lostKey = keys[1] as string;

describe('messages that the stream loses without its watermark', () => {
  const lose = (stream: string): Promise<void> => shared.server.purgeStream(stream, `${stream}.a.*.*.*.*.*.lost`);

  /**
   * A shard: lists and watches its keys. The returned function resolves when the watch has ended with CompactedError and the
   * missing keys are written again; returns their number.
   */
  async function startWriter({ publisher }: Setting<unknown>, clock: FakeClock): Promise<() => Promise<number>> {
    const { revision } = await publisher.list(shardKeys('a'));
    const options = { after: revision, signal: new AbortController().signal, restoresKeys: true };
    const ended = (async () => {
      for await (const _ of publisher.watch(shardKeys('a'), options));
    })();
    let failure: unknown;
    ended.catch((error: unknown) => (failure = error));
    return async () => {
      // Slowly, because the heartbeats of NATS have their own time, and the reader lists again after 45 seconds.
      await eventually(async () => {
        await clock.advance(200);
        expect(failure).toMatchObject({ code: 'Compacted' });
      }, patient);
      let written = 0;
      for (const key of keys) {
        if ((await publisher.get(key)) !== undefined) continue;
        await publisher.create(key, bytes('1'));
        written++;
      }
      return written;
    };
  }

  test('a running reader requests its writers to list again; its watchers keep their watches and state', async () => {
    const clock = new FakeClock();
    await using setting = await shared.open({ clock });
    const { publisher, cache, stream } = setting;
    for (const key of keys) await put(publisher, key, '1');
    await cache.freshRevision();
    const watcher = new Watcher(cache);
    for (let round = 0; round < 2; round++) {
      const written = await startWriter(setting, clock);
      await lose(stream);
      await put(publisher, keys[2] as string, `round ${round}`);
      await cache.freshRevision();
      expect(watcher.state.get(lostKey)).toBe('1');
      expect(await written()).toBe(1);
      await eventually(() => expectEqual(setting, watcher), patient);
    }
    expect(watcher.state.size).toBe(3);
    expect(watcher.restarts).toBe(0);
  });

  test('a reader that starts after the loss requests its writers to list again', async () => {
    const clock = new FakeClock();
    await using setting = await shared.open({ clock });
    const { publisher, cache, stream } = setting;
    for (const key of keys) await put(publisher, key, '1');
    await cache.close();
    const written = await startWriter(setting, clock);
    await lose(stream);
    const storage = await setting.openAround();
    const late = openWatchCache({ prefix: '/cache/' }, { storage, clock: systemClock, onError: () => undefined });
    await late.ready;
    expect(await written()).toBe(1);
    const watcher = new Watcher(late);
    await eventually(() => expectEqual({ publisher, cache: late }, watcher), patient);
    expect(watcher.state.size).toBe(3);
    await late.close();
  });

  test.each([
    ['a key without a writer', async () => undefined],
    [
      'a tombstone that the reader has not received',
      async ({ publisher, proxy }: Setting<TcpProxy>): Promise<void> => {
        proxy.refuse();
        await remove(publisher, lostKey);
      },
    ],
  ])('the reader takes the state of the stream when it is not restored: %s', async (_what, before) => {
    const clock = new FakeClock();
    await using setting = await shared.open({ clock });
    const { publisher, cache, stream, proxy } = setting;
    for (const key of keys) await put(publisher, key, '1');
    await cache.freshRevision();
    const watcher = new Watcher(cache);
    await before(setting);
    await lose(stream);
    proxy.accept();
    await put(publisher, keys[2] as string, 'after');
    await eventually(() => expect(watcher.state.get(keys[2] as string)).toBe('after'), patient);
    expect(watcher.state.get(lostKey)).toBe('1');
    await eventually(
      async () => {
        await clock.advance(2_000);
        await expectEqual(setting, watcher);
      },
      { timeout: 40_000 },
    );
    expect(watcher.state.has(lostKey)).toBe(false);
    expect(watcher.restarts).toBe(1);
  });
});
