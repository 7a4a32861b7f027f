import { readdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@multiplane/component-base';
import { openWatchCache, type Storage, type WatchCache } from '@multiplane/storage';
import { openJetStreamStorage } from '@multiplane/storage/jetstream';
import { eventually, NatsServer, TempDir } from '@multiplane/testing';
import { Publisher } from './publisher.ts';
import { policies, ReplicationHarness, harnessKinds, type ObjectLocation } from './replication-harness.ts';

const place = (name: string): ObjectLocation => ({ kind: policies, cluster: 'a', name });

/**
 * Publishers of two shards on a JetStream stream, with a watch cache like that of the cache server. After each test the cache
 * is the union of the replicated objects of both shards, and its watchers got every change once.
 */
describe('replication over NATS', () => {
  let folder: TempDir;
  let nats: NatsServer;
  beforeAll(async () => {
    folder = await TempDir.create('nats-streams');
    nats = await NatsServer.start({ extraArgs: [`--store_dir=${folder.path}`] });
  }, 120_000);
  afterAll(async () => {
    await nats[Symbol.asyncDispose]();
    await folder.remove();
  });

  let run = 0;
  let harness: ReplicationHarness;
  let cache: WatchCache;
  let stores: Storage[];
  let publishers: Publisher[];
  /** The state of a watcher, and the events that it should not have received. */
  let observed: Map<string, string>;
  let faults: string[];
  /** How often the watcher had to list again. */
  let relists: number;
  const open = async (): Promise<Storage> => {
    const store = await openJetStreamStorage(
      { servers: [nats.url], stream: `test-${run}`, subjectPrefix: `test-${run}.cache` },
      { random: () => 0 },
    );
    stores.push(store);
    return store;
  };
  const publish = async (shard: string): Promise<Publisher> => {
    const publisher = new Publisher(
      { shardName: shard, kinds: harnessKinds, pageSize: 0 },
      { local: harness.storageOf(shard), shared: await open(), clock: systemClock },
    );
    publishers.push(publisher);
    await publisher.start();
    return publisher;
  };
  const subscribe = (): void => {
    const snapshot = cache.snapshot('/cache/');
    const now = new Map(
      snapshot.entries(undefined, Number.POSITIVE_INFINITY).map(({ key, value }) => [key, value.toString()]),
    );
    observed = now;
    cache.subscribe({
      scope: '/cache/',
      after: snapshot.revision,
      onEvent: ({ current, previous }) => {
        const key = (current ?? previous)?.key ?? '';
        const value = current?.value.toString();
        if (observed.get(key) === value) faults.push(`duplicate event: ${key}`);
        if (value === undefined) observed.delete(key);
        else observed.set(key, value);
      },
      onEnd: (_reason, before) => {
        if (before === undefined) return;
        relists += 1;
        subscribe();
      },
    });
  };
  const openCache = async (): Promise<void> => {
    cache = openWatchCache({ prefix: '/cache/' }, { storage: await open(), clock: systemClock, onError: () => {} });
    await cache.ready;
    subscribe();
  };
  const settled = async (): Promise<void> => {
    const expected = await harness.expectedObjects();
    await eventually(() => expect(new Map([...observed].sort(([a], [b]) => (a < b ? -1 : 1)))).toEqual(expected), {
      timeout: 25_000,
    });
    expect(faults).toEqual([]);
  };
  beforeEach(async () => {
    run += 1;
    harness = new ReplicationHarness(['east', 'west']);
    stores = [];
    publishers = [];
    faults = [];
    relists = 0;
    await openCache();
  });
  afterEach(async () => {
    for (const publisher of publishers) publisher.kill();
    await cache.close();
    await Promise.all(stores.map((store) => store.close()));
  });

  test('concurrent publishers of one shard converge after one is killed between a local write and its publication', async () => {
    const first = await publish('east');
    await publish('east');
    for (let i = 0; i < 60; i++) {
      await harness.put('east', place(`p${i % 7}`), {}, i);
      if (i % 11 === 0) await harness.remove('east', place(`p${(i + 3) % 7}`));
      if (i === 30) first.kill();
    }
    for (const publisher of publishers) publisher.kill();
    await harness.put('east', place('unpublished'), {}, 'x');
    await harness.remove('east', place('p1'));
    await publish('east');
    await settled();
    expect([...observed.keys()].some((key) => key.endsWith('/unpublished'))).toBe(true);
  }, 120_000);

  test('NATS restarts during writes', async () => {
    await publish('east');
    await publish('west');
    for (let i = 0; i < 10; i++) await harness.put('east', place(`p${i}`), {}, i);
    await settled();
    await nats.process.kill();
    for (let i = 0; i < 10; i++) await harness.put('west', place(`p${i}`), {}, i);
    await harness.remove('east', place('p0'));
    await nats.process.start();
    await settled();
    expect(observed.size).toBe(19);
  }, 120_000);

  test('the shards rebuild a lost stream', async () => {
    await publish('east');
    await publish('west');
    for (let i = 0; i < 10; i++) {
      await harness.put('east', place(`p${i}`), {}, i);
      await harness.put('west', place(`p${i}`), {}, i);
    }
    await settled();
    await nats.process.kill();
    for (const name of await readdir(folder.path)) await rm(folder.join(name), { recursive: true });
    await harness.remove('east', place('p0'));
    await nats.process.start();
    await settled();
    await harness.put('west', place('p0'), {}, 'after');
    await settled();
    expect(observed.size).toBe(19);
  }, 120_000);

  describe('a purge by subject that spares the watermark', () => {
    /** Two objects of each shard, of which the stream loses one. */
    const purge = async (): Promise<void> => {
      await nats.purgeStream(`test-${run}`, `test-${run}.cache.east.*.*.*.*.*.lost`);
      // The publisher of the next change of a lost object expects a message that the stream does not have.
      await harness.put('east', place('kept'), {}, 'after');
    };
    beforeEach(async () => {
      await publish('east');
      await publish('west');
      for (const shard of ['east', 'west'])
        for (const name of ['kept', 'lost']) await harness.put(shard, place(name), {}, shard);
      await settled();
    });
    const inStream = async (): Promise<Map<string, string>> => {
      // The first store is that of the cache.
      const { items } = await (stores[1] as Storage).list('/cache/');
      return new Map(items.map(({ key, value }) => [key, value.toString()]));
    };
    const restored = async (): Promise<void> => {
      const expected = await harness.expectedObjects();
      await eventually(async () => expect(await inStream()).toEqual(expected), { timeout: 60_000 });
      await settled();
      expect(observed.size).toBe(4);
    };

    test('is repaired while the shards run, and watchers keep their watches', async () => {
      await purge();
      await restored();
      // The cache requested lists when it started; the second repair needs a request of its own.
      await purge();
      await restored();
      expect(relists).toBe(0);
    }, 120_000);

    test('is repaired also when a lost object changes', async () => {
      await purge();
      await harness.put('east', place('lost'), {}, 'changed');
      await restored();
      expect(relists).toBe(0);
    }, 120_000);

    test('is repaired when it happened while no cache server ran', async () => {
      await cache.close();
      await purge();
      await openCache();
      await restored();
      expect(relists).toBe(0);
    }, 120_000);
  });
});
