import { randomBytes } from 'node:crypto';
import { eventually, NatsServer, TcpProxy } from '@multiplane/testing';
import { describe, expect, test } from '@jest/globals';
import { isStorageError } from '../../errors.ts';
import type { Storage } from '../../interface.ts';
import {
  bytes,
  expectEqual,
  patient,
  shardKeys,
  sharedServer,
  Watcher,
} from '../../../test/jetstream/stream-setting.ts';

const shared = sharedServer({ server: () => NatsServer.start(), proxy: (port) => TcpProxy.start(port) });

describe('writes to the stream', () => {
  test('a write whose response is lost is stored exactly once and acknowledged', async () => {
    await using setting = await shared.open();
    const { proxy, publisher } = setting;
    const through = await setting.openThrough({ requestTimeoutMs: 1000 });
    for (let i = 0; i < 5; i++) {
      const key = `${shardKeys('a')}c/${i}`;
      const before = await publisher.currentRevision();
      // A few bytes arrive: the response is cut in the middle.
      const cut = proxy.cutAfter(10);
      const revision = await through.create(key, bytes('1'));
      await cut;
      expect(await publisher.get(key)).toMatchObject({ revision });
      expect(await publisher.currentRevision()).toBe(before + 1);
    }
    await through.close();
  });

  test('of two racing publishers each update replaces the state that its writer has read', async () => {
    await using setting = await shared.open();
    const { publisher, cache } = setting;
    const other = await setting.openAround();
    const watcher = new Watcher(cache);
    const key = `${shardKeys('a')}c/counter`;
    await publisher.create(key, bytes('0'));
    const count = async (store: Storage): Promise<void> => {
      for (let done = 0; done < 20;) {
        const known = await store.get(key);
        if (known === undefined) throw new Error('the counter does not exist');
        try {
          await store.update(key, bytes(String(Number(known.value.toString()) + 1)), known.revision);
          done++;
        } catch (error) {
          if (!isStorageError(error, 'RevisionConflict')) throw error;
        }
      }
    };
    await Promise.all([count(publisher), count(other)]);
    expect((await publisher.get(key))?.value.toString()).toBe('40');
    await eventually(() => expectEqual(setting, watcher), patient);
    await other.close();
  });

  test('reads complete while objects are replaced, with everything that existed at their start', async () => {
    await using setting = await shared.open();
    const { publisher } = setting;
    const reader = await setting.openAround();
    let newest = 0;
    const done = new AbortController();
    const write = async (writer: number): Promise<void> => {
      const known: (number | undefined)[] = [];
      for (let turn = 0; !done.signal.aborted; turn++) {
        // Visits fifty names in a different order.
        const slot = (turn * (7 + 2 * writer)) % 50;
        const key = `${shardKeys('a')}c/${writer}-${slot}`;
        const before = known[slot];
        const revision =
          before === undefined
            ? await publisher.create(key, bytes('1'))
            : await publisher.update(key, bytes(String(turn)), before);
        known[slot] = revision;
        newest = Math.max(newest, revision);
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    try {
      for (let reading = 0; reading < 150; reading++) {
        const written = newest;
        let seen = 0;
        for await (const { events } of reader.streamList(shardKeys('a'), done.signal))
          for (const { revision } of events) seen = Math.max(seen, revision);
        expect(seen).toBeGreaterThanOrEqual(written);
      }
    } finally {
      done.abort();
      await Promise.all(writers);
      await reader.close();
    }
  }, 60_000);

  test('a value over the message limit is deflated, and refused when it is still too large', async () => {
    await using setting = await shared.open();
    const { publisher, cache } = setting;
    const key = `${shardKeys('a')}c/schema`;
    const schema = Buffer.from(
      JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ type: 'object', property: i }))).padEnd(1_400_000),
    );
    const revision = await publisher.create(key, schema);
    expect((await publisher.get(key))?.value.equals(schema)).toBe(true);
    await cache.waitFor(revision, 20_000);
    expect(cache.peek(key)?.value.equals(schema)).toBe(true);
    await expect(publisher.update(key, randomBytes(1_400_000), revision)).rejects.toMatchObject({
      code: 'ValueTooLarge',
    });
    await expect(publisher.update(key, Buffer.alloc(2 << 20), revision)).rejects.toMatchObject({
      code: 'ValueTooLarge',
    });
    expect((await publisher.get(key))?.revision).toBe(revision);
  });
});
