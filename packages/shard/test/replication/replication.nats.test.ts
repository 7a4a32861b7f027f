import { readdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@multiplane/component-base';
import { openWatchCache, type Storage, type WatchCache } from '@multiplane/storage';
import { openJetStreamStorage } from '@multiplane/storage/jetstream';
import { eventually, NatsServer, TempDir } from '@multiplane/testing';
import { Publisher } from './test-support/publisher.ts';
import { policies, ReplicatedWorld, worldKinds, type Place } from './test-support/replicated-world.ts';

const place = (name: string): Place => ({ kind: policies, cluster: 'a', name });

/**
 * Publishers of two shards on a real stream, and a watch cache over it as the cache server has one. After everything
 * that happens here the cache is the union of what the shards share, and its watchers were told each change once.
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
  let world: ReplicatedWorld;
  let cache: WatchCache;
  let stores: Storage[];
  let publishers: Publisher[];
  /** What a watcher of the cache believes, and what it was told against the rules. */
  let believed: Map<string, string>;
  let faults: string[];
  const open = async (): Promise<Storage> => {
    const store = await openJetStreamStorage({
      servers: [nats.url],
      stream: `test-${run}`,
      subjectPrefix: `test-${run}.cache`,
    });
    stores.push(store);
    return store;
  };
  const publish = async (shard: string): Promise<Publisher> => {
    const publisher = new Publisher(
      { shardName: shard, kinds: worldKinds, pageSize: 0 },
      { local: world.storageOf(shard), shared: await open(), clock: systemClock },
    );
    publishers.push(publisher);
    await publisher.start();
    return publisher;
  };
  const follow = (): void => {
    const snapshot = cache.snapshot('/cache/');
    const now = new Map(
      snapshot.entries(undefined, Number.POSITIVE_INFINITY).map(({ key, value }) => [key, value.toString()]),
    );
    believed = now;
    cache.subscribe({
      scope: '/cache/',
      after: snapshot.revision,
      onEvent: ({ current, previous }) => {
        const key = (current ?? previous)?.key ?? '';
        const value = current?.value.toString();
        if (believed.get(key) === value) faults.push(`told twice: ${key}`);
        if (value === undefined) believed.delete(key);
        else believed.set(key, value);
      },
      onEnd: (_reason, before) => {
        if (before !== undefined) follow();
      },
    });
  };
  const settled = async (): Promise<void> => {
    const union = await world.union();
    await eventually(() => expect(new Map([...believed].sort(([a], [b]) => (a < b ? -1 : 1)))).toEqual(union), {
      timeout: 25_000,
    });
    expect(faults).toEqual([]);
  };
  beforeEach(async () => {
    run += 1;
    world = new ReplicatedWorld(['east', 'west']);
    stores = [];
    publishers = [];
    faults = [];
    cache = openWatchCache({ prefix: '/cache/' }, { storage: await open(), clock: systemClock, onError: () => {} });
    await cache.ready;
    follow();
  });
  afterEach(async () => {
    for (const publisher of publishers) publisher.kill();
    await cache.close();
    await Promise.all(stores.map((store) => store.close()));
  });

  test('two publishers of one shard race, one is killed between a local write and publishing it, another takes over', async () => {
    const first = await publish('east');
    await publish('east');
    for (let i = 0; i < 60; i++) {
      await world.put('east', place(`p${i % 7}`), {}, i);
      if (i % 11 === 0) await world.remove('east', place(`p${(i + 3) % 7}`));
      if (i === 30) first.kill();
    }
    for (const publisher of publishers) publisher.kill();
    await world.put('east', place('unpublished'), {}, 'x');
    await world.remove('east', place('p1'));
    await publish('east');
    await settled();
    expect([...believed.keys()].some((key) => key.endsWith('/unpublished'))).toBe(true);
  }, 120_000);

  test('NATS is killed and started again while shards go on writing', async () => {
    await publish('east');
    await publish('west');
    for (let i = 0; i < 10; i++) await world.put('east', place(`p${i}`), {}, i);
    await settled();
    await nats.process.kill();
    for (let i = 0; i < 10; i++) await world.put('west', place(`p${i}`), {}, i);
    await world.remove('east', place('p0'));
    await nats.process.start();
    await settled();
    expect(believed.size).toBe(19);
  }, 120_000);

  test('the stream is lost altogether and rebuilt by the shards', async () => {
    await publish('east');
    await publish('west');
    for (let i = 0; i < 10; i++) {
      await world.put('east', place(`p${i}`), {}, i);
      await world.put('west', place(`p${i}`), {}, i);
    }
    await settled();
    await nats.process.kill();
    for (const name of await readdir(folder.path)) await rm(folder.join(name), { recursive: true });
    await world.remove('east', place('p0'));
    await nats.process.start();
    await settled();
    await world.put('west', place('p0'), {}, 'after');
    await settled();
    expect(believed.size).toBe(19);
  }, 120_000);
});
