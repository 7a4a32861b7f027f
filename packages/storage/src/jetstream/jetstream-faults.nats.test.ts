import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { systemClock } from '@multiplane/component-base';
import { eventually, NatsServer, TcpProxy, TempDir, testCertificates } from '@multiplane/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { connect } from 'nats';
import { openWatchCache } from '../cacher/open-watch-cache.ts';
import type { BackedWatchCache } from '../cacher/watch-cache.ts';
import { isStorageError } from '../errors.ts';
import type { Storage, WatchBatch } from '../interface.ts';
import type { JetStreamStorage } from './jetstream-storage.ts';
import { openJetStreamStorage } from './open-jetstream-storage.ts';

const shardKeys = (shard: string): string => `/cache/apis.kcp.io/apiexports/customresources/${shard}/`;
const all = '/cache/apis.kcp.io/apiexports/customresources/';
const bytes = (text: string): Buffer => Buffer.from(text);

let shared: NatsServer;
let stores = 0;
beforeAll(async () => {
  shared = await NatsServer.start();
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

interface Setting extends AsyncDisposable {
  readonly server: NatsServer;
  readonly stream: string;
  readonly proxy: TcpProxy;
  /** Reaches NATS around the proxy, as a shard does. */
  readonly publisher: JetStreamStorage;
  /** A cache server, through the proxy. */
  readonly cache: BackedWatchCache;
}

interface SettingOptions {
  readonly server?: NatsServer | undefined;
  readonly now?: (() => number) | undefined;
}

async function open({ server = shared, now }: SettingOptions = {}): Promise<Setting> {
  const stream = `faults-${stores++}`;
  const target = { stream, subjectPrefix: stream, sweepIntervalMs: 0, requestTimeoutMs: 2000 };
  const proxy = await TcpProxy.start(server.port);
  const publisher = await openJetStreamStorage({ ...target, servers: [server.url], tombstoneMs: 60_000, now });
  const storage = await openJetStreamStorage({ ...target, servers: [`nats://127.0.0.1:${proxy.port}`] });
  const cache = openWatchCache({ prefix: '/cache/' }, { storage, clock: systemClock, onError: () => undefined });
  await cache.ready;
  return {
    server,
    stream,
    proxy,
    publisher,
    cache,
    async [Symbol.asyncDispose]() {
      await Promise.all([cache.close(), publisher.close()]);
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** A watcher of the cache that applies what it is told, and looks anew when it is sent away, as every client does. */
class Watcher {
  readonly state = new Map<string, string>();
  readonly problems: string[] = [];
  /** How often it had to look anew. */
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
          this.problems.push(`${key}: knew ${known}, told of ${previous?.value.toString()}`);
        if (current === undefined) this.state.delete(key);
        else this.state.set(key, current.value.toString());
      },
      onEnd: (reason) => {
        if (isStorageError(reason, 'Compacted')) this.#begin();
      },
    });
  }
}

function iterate(store: Storage, after: number): AsyncIterator<WatchBatch> {
  return store.watch('/cache/', { after, signal: new AbortController().signal })[Symbol.asyncIterator]();
}

function eventsOf(result: IteratorResult<WatchBatch, unknown>): number {
  return result.done === true ? 0 : result.value.events.length;
}

/** What the stream holds, as a fresh reader finds it. */
async function truth(store: Storage): Promise<Map<string, string>> {
  return new Map((await store.list(all)).items.map(({ key, value }) => [key, value.toString()]));
}

async function expectEqual({ publisher, cache }: Setting, watcher: Watcher): Promise<void> {
  const expected = await truth(publisher);
  await eventually(
    () => {
      const state = cache.snapshot(all).entries(undefined, Infinity);
      expect(new Map(state.map(({ key, value }) => [key, value.toString()]))).toEqual(expected);
      expect(watcher.state).toEqual(expected);
    },
    { timeout: 20_000 },
  );
  expect(watcher.problems).toEqual([]);
}

async function put(store: Storage, key: string, text: string): Promise<number> {
  const known = await store.get(key);
  return known === undefined
    ? await store.create(key, bytes(text))
    : await store.update(key, bytes(text), known.revision);
}

async function remove(store: Storage, key: string): Promise<void> {
  const known = await store.get(key);
  if (known !== undefined) await store.delete(key, known.revision);
}

describe('the stream under faults', () => {
  test('connections cut again and again, also in mid catch-up: nothing lost, doubled or out of order', async () => {
    await using setting = await open();
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
    await expectEqual(setting, watcher);
    expect(watcher.restarts).toBe(0);
    expect(watcher.state.size).toBe(6 * 59);
  });

  test('a reader that begins while its connection is cut gets everything all the same', async () => {
    await using setting = await open();
    const { proxy, publisher, stream } = setting;
    const revisions = await Promise.all(
      Array.from({ length: 400 }, (_, i) => publisher.create(`${shardKeys('a')}c/${i}`, bytes('v'.repeat(1000)))),
    );
    // The bytes of the other reader do not count.
    await setting.cache.waitFor(Math.max(...revisions), 10_000);
    const cut = proxy.cutAfter(150_000);
    const late = await openJetStreamStorage({
      servers: [`nats://127.0.0.1:${proxy.port}`],
      stream,
      subjectPrefix: stream,
      sweepIntervalMs: 0,
    });
    const cache = openWatchCache(
      { prefix: '/cache/' },
      { storage: late, clock: systemClock, onError: () => undefined },
    );
    await Promise.all([cut, cache.ready]);
    expect(cache.snapshot(all).countFrom(all)).toBe(400);
    await cache.close();
  });

  test('NATS killed and restarted: revisions go on, watchers too', async () => {
    await using server = await NatsServer.start();
    await using setting = await open({ server });
    const { publisher, cache } = setting;
    const first = await publisher.create(`${shardKeys('a')}c/1`, bytes('1'));
    await cache.waitFor(first, 20_000);
    const watcher = new Watcher(cache);
    await server.process.kill();
    const write = publisher.update(`${shardKeys('a')}c/1`, bytes('2'), first).catch((error: unknown) => error);
    await server.process.restart();
    await write;
    const last = await eventually(() => put(publisher, `${shardKeys('a')}c/1`, '3'), { timeout: 20_000 });
    expect(last).toBeGreaterThan(first);
    await expectEqual(setting, watcher);
    expect(watcher.restarts).toBe(0);
  });

  test('NATS frozen: writes and fresh reads wait or fail, none is answered wrong', async () => {
    await using server = await NatsServer.start();
    await using setting = await open({ server });
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
    await eventually(() => put(publisher, key, '3'), { timeout: 20_000 });
    await expectEqual(setting, watcher);
  });

  test('the answer of a write is lost: it is known to have happened, and did once', async () => {
    await using setting = await open();
    const { proxy, publisher, stream } = setting;
    const through = await openJetStreamStorage({
      servers: [`nats://127.0.0.1:${proxy.port}`],
      stream,
      subjectPrefix: stream,
      sweepIntervalMs: 0,
      requestTimeoutMs: 1000,
    });
    for (let i = 0; i < 5; i++) {
      const key = `${shardKeys('a')}c/${i}`;
      const before = await publisher.currentRevision();
      // A few bytes come back: the answer is cut in the middle.
      const cut = proxy.cutAfter(10);
      const revision = await through.create(key, bytes('1'));
      await cut;
      expect(await publisher.get(key)).toMatchObject({ revision });
      expect(await publisher.currentRevision()).toBe(before + 1);
    }
    await through.close();
  });

  test('two publishers race: every write is somebody’s, each replaces what its writer saw', async () => {
    await using setting = await open();
    const { publisher, cache, stream, server } = setting;
    const other = await openJetStreamStorage({
      servers: [server.url],
      stream,
      subjectPrefix: stream,
      sweepIntervalMs: 0,
    });
    const watcher = new Watcher(cache);
    const key = `${shardKeys('a')}c/counter`;
    await publisher.create(key, bytes('0'));
    const count = async (store: Storage): Promise<void> => {
      for (let done = 0; done < 20;) {
        const known = await store.get(key);
        if (known === undefined) throw new Error('the counter is gone');
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
    await expectEqual(setting, watcher);
    await other.close();
  });

  test('the stream is lost and made anew: old revisions are refused, watchers are sent away once, then the truth', async () => {
    await using setting = await open();
    const { publisher, cache, stream, server } = setting;
    const old = await publisher.create(`${shardKeys('a')}c/lost`, bytes('1'));
    await publisher.create(`${shardKeys('b')}c/back`, bytes('1'));
    await cache.freshRevision();
    const watcher = new Watcher(cache);
    const part = publisher.watch(shardKeys('a'), { after: old, signal: new AbortController().signal });
    const partEnded = (async () => {
      for await (const _ of part);
    })().catch((error: unknown) => error);

    await server.loseStream(stream);
    const revision = await eventually(() => put(publisher, `${shardKeys('b')}c/back`, '1'), { timeout: 20_000 });

    expect(revision).toBeGreaterThan(old);
    await expectEqual(setting, watcher);
    expect([...watcher.state]).toEqual([[`${shardKeys('b')}c/back`, '1']]);
    expect(watcher.restarts).toBe(1);
    await expect(publisher.list(all, { revision: old })).rejects.toMatchObject({ code: 'Compacted' });
    await expect(iterate(publisher, old).next()).rejects.toMatchObject({ code: 'Compacted' });
    // Whoever publishes is told as well, and does it again.
    expect(await partEnded).toMatchObject({ code: 'Compacted' });
    expect(() => cache.snapshot(all, old)).toThrow('compacted');
    await expect(publisher.update(`${shardKeys('a')}c/lost`, bytes('2'), old)).rejects.toMatchObject({
      code: 'RevisionConflict',
    });
  });

  test('a slow reader catches up in bounded pieces', async () => {
    await using setting = await open();
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

  test('a deletion is seen by all who had the object, and its tombstone is swept', async () => {
    let now = Date.now();
    await using setting = await open({ now: () => now });
    const { publisher, cache, proxy, stream, server } = setting;
    const sweeping = await openJetStreamStorage({
      servers: [server.url],
      stream,
      subjectPrefix: stream,
      sweepIntervalMs: 3600_000,
      tombstoneMs: 60_000,
      now: () => now,
    });
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
    await expectEqual(setting, watcher);
    // It was away while the tombstone went: it had to look anew instead of keeping what is gone.
    expect(watcher.restarts).toBe(1);
    expect([...watcher.state.values()]).toEqual(['again', '1']);
    // A name whose tombstone is gone is free.
    await publisher.create(keys[0] as string, bytes('new'));
    await expectEqual(setting, watcher);
    expect(watcher.restarts).toBe(1);
    await sweeping.close();
  });

  test('what is larger than a message may be comes whole, as far as it can be made small enough', async () => {
    await using setting = await open();
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

  test('a token, and certificates on both sides', async () => {
    await using folder = await TempDir.create('nats-tls');
    const certificates = await testCertificates();
    const client = await certificates.client('shard');
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(folder.join(name), text);
      return folder.join(name);
    };
    const caFile = await file('ca.crt', certificates.authorityPem);
    await using server = await NatsServer.start({
      extraArgs: [
        '--auth=first-token',
        '--tlsverify',
        `--tlscert=${await file('server.crt', certificates.server.certificatePem)}`,
        `--tlskey=${await file('server.key', certificates.server.privateKeyPem)}`,
        `--tlscacert=${caFile}`,
      ],
    });
    const tokenFile = await file('token', 'first-token\n');
    const tls = {
      caFile,
      certFile: await file('client.crt', client.certificatePem),
      keyFile: await file('client.key', client.privateKeyPem),
    };
    const target = { servers: [`127.0.0.1:${server.port}`], stream: 's', subjectPrefix: 's', requestTimeoutMs: 2000 };
    const store = await openJetStreamStorage({ ...target, tls, tokenFile });
    await store.create(`${shardKeys('a')}c/1`, bytes('1'));
    expect(await truth(store)).toEqual(new Map([[`${shardKeys('a')}c/1`, '1']]));
    await store.close();
    for (const refused of [{}, { tls }, { tls: { caFile }, tokenFile }])
      await expect(openJetStreamStorage({ ...target, ...refused })).rejects.toMatchObject({ code: 'Unavailable' });
  });

  test('a stream of another kind is refused', async () => {
    const nats = await connect({ servers: shared.url });
    await (await nats.jetstreamManager()).streams.add({ name: 'foreign', subjects: ['foreign.>'] });
    await nats.close();
    await expect(
      openJetStreamStorage({ servers: [shared.url], stream: 'foreign', subjectPrefix: 'foreign' }),
    ).rejects.toMatchObject({ code: 'Unusable' });
  });

  test('no NATS is told at once', async () => {
    await expect(
      openJetStreamStorage({ servers: ['nats://127.0.0.1:1'], stream: 's', subjectPrefix: 's', requestTimeoutMs: 500 }),
    ).rejects.toMatchObject({ code: 'Unavailable' });
  });
});

/**
 * The invariant, whatever happens: once writes rest, the cache holds what the stream holds, every watcher has
 * arrived there by what it was told, and no watcher was told an older thing after a newer, or of a state it did not have.
 */
// oxlint-disable-next-line jest/expect-expect -- expectEqual expects
test('under random writes, cuts, sweeps and losses the cache ends equal to the stream, and so do watchers', async () => {
  type Step =
    | { readonly do: 'put' | 'remove'; readonly name: number }
    | { readonly do: 'cut' | 'refuse' | 'accept' | 'pause' | 'resume' | 'sweep' | 'lose' | 'kill' };
  const name = fc.nat({ max: 8 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 10, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom(...(['cut', 'refuse', 'accept', 'pause', 'resume'] as const)) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('sweep' as const, 'lose' as const, 'kill' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), async (steps) => {
      let now = Date.now();
      await using setting = await open({ now: () => now });
      const { publisher, proxy, cache, stream, server } = setting;
      const watcher = new Watcher(cache);
      for (const [i, one] of steps.entries()) {
        if (one.do === 'put') await eventually(() => put(publisher, `${shardKeys('a')}c/${one.name}`, String(i)));
        else if (one.do === 'remove') await eventually(() => remove(publisher, `${shardKeys('a')}c/${one.name}`));
        else if (one.do === 'cut') proxy.cut();
        else if (one.do === 'refuse') proxy.refuse();
        else if (one.do === 'accept') proxy.accept();
        else if (one.do === 'pause') proxy.pause();
        else if (one.do === 'resume') proxy.resume();
        else if (one.do === 'sweep') {
          now += 3600_000;
          await eventually(() => publisher.sweep());
        } else if (one.do === 'kill') {
          await server.process.crash();
        } else {
          await eventually(() =>
            server.loseStream(stream).catch((error: unknown) => {
              // Lost already, and nobody has written since.
              if (!String(error).includes('stream not found')) throw error;
            }),
          );
        }
      }
      proxy.accept();
      proxy.resume();
      await expectEqual(setting, watcher);
    }),
    { numRuns: 12, examples: [[[{ do: 'put', name: 0 }, { do: 'pause' }, { do: 'lose' }, { do: 'lose' }]]] },
  );
}, 120_000);
