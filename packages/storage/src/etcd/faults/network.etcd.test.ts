import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EtcdServer, eventually, TcpProxy } from '@multiplane/testing';
import { bytes, codeOf, Watching } from '../../../test/conformance/subject.ts';
import type { EtcdStorage } from '../etcd-storage.ts';
import { openEtcdStorage } from '../open-etcd-storage.ts';

/** The store under test connects through a proxy that can be broken; `direct` does not. */
let server: EtcdServer;
let proxy: TcpProxy;
let store: EtcdStorage;
let direct: EtcdStorage;
let prefix: string;
let stores = 0;

beforeAll(async () => {
  server = await EtcdServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  proxy = await TcpProxy.start(server.port);
  prefix = `/network-${stores++}`;
  store = await openEtcdStorage({ endpoints: [`http://127.0.0.1:${proxy.port}`], prefix, requestTimeoutMs: 3000 });
  direct = await openEtcdStorage({ endpoints: [server.endpoint], prefix });
});
afterEach(async () => {
  proxy.resume();
  await Promise.all([store.close(), direct.close()]);
  await proxy[Symbol.asyncDispose]();
});

const key = (i: number): string => `/registry/a/${String(i).padStart(6, '0')}`;

async function createMany(count: number, value: Buffer, first = 0): Promise<number[]> {
  const revisions: number[] = [];
  for (let i = first; i < first + count; i += 100) {
    const some = Array.from({ length: Math.min(100, first + count - i) }, (_, j) => direct.create(key(i + j), value));
    revisions.push(...(await Promise.all(some)));
  }
  return revisions.sort((a, b) => a - b);
}

describe('watches', () => {
  // In this case the Watcher of etcd3 loses thousands of events: it resumes at the revision of a header.
  test('the connection is cut repeatedly during catch-up: no event is lost, repeated or out of order', async () => {
    const start = await direct.currentRevision();
    const revisions = await createMany(4000, Buffer.alloc(500, 'x'));
    let cuts = 0;
    const done = Promise.withResolvers<void>();
    const cutter = (async () => {
      while (cuts < 8) {
        await Promise.race([proxy.cutAfter(150_000 + cuts * 60_000), done.promise]);
        cuts++;
      }
    })();
    const watching = await new Watching(store, '/registry/', start).count(revisions.length);
    done.resolve();
    await cutter;
    expect(watching.events.map((event) => event.revision)).toEqual(revisions);
    expect(proxy.accepted).toBeGreaterThan(4);
    await watching.stop();
  });

  test('every connection dies every few milliseconds while others write', async () => {
    const start = await direct.currentRevision();
    const watching = new Watching(store, '/registry/', start).start();
    const expected: number[] = [];
    const writing = (async () => {
      for (let i = 0; i < 600; i += 20) {
        expected.push(...(await createMany(20, bytes('x'), i)));
        if (i % 60 === 0) proxy.cut();
      }
    })();
    await Promise.all([writing, watching.count(600)]);
    expect(watching.events.map((event) => event.revision)).toEqual(expected);
    await watching.stop();
  });

  test('history that is compacted during an outage ends the watch with Compacted, without a gap before', async () => {
    const start = await direct.currentRevision();
    const before = await createMany(10, bytes('x'));
    const watching = await new Watching(store, '/registry/', start).count(10);
    proxy.refuse();
    await createMany(10, bytes('x'), 10);
    const found = await direct.get(key(0));
    const removed = await direct.delete(key(0), found?.revision ?? 0);
    await direct.compact(removed);
    proxy.accept();
    expect(await codeOf(watching.count(21))).toBe('Compacted');
    expect(watching.events.map((event) => event.revision)).toEqual(before);
  });

  test('a compacted delete as the last change before an idle time is refused, not silently omitted', async () => {
    const created = await direct.create(key(0), bytes('x'));
    const removed = await direct.delete(key(0), created);
    await direct.compact(removed);
    expect(await codeOf(new Watching(store, '/registry/', created).count(1))).toBe('Compacted');
  });

  test('an outage without missed events is bridged although the history before it is compacted', async () => {
    const watching = new Watching(store, '/registry/', await direct.currentRevision()).start();
    const [revision] = await createMany(1, bytes('x'));
    await watching.count(1);
    proxy.refuse();
    await direct.compact(revision as number);
    proxy.accept();
    const [next] = await createMany(1, bytes('x'), 1);
    await watching.count(2);
    expect(watching.events.map((event) => event.revision)).toEqual([revision, next]);
    await watching.stop();
  });

  test('a network that drops all packets is detected, and the watch resumes over a new connection', async () => {
    const watching = new Watching(store, '/registry/', await direct.currentRevision()).start();
    await createMany(1, bytes('x'));
    await watching.count(1);
    watching.start();
    const connections = proxy.accepted;
    proxy.pause();
    await createMany(5, bytes('x'), 1);
    // The paused connection never continues, as after a firewall has dropped it; new ones work.
    await eventually(() => expect(proxy.accepted).toBeGreaterThan(connections), { timeout: 15_000 });
    proxy.resume();
    await watching.count(6);
    await watching.stop();
  }, 120_000);

  test('a slow reader loses nothing and does not block others', async () => {
    const start = await direct.currentRevision();
    const lazy = new Watching(store, '/registry/', start).start();
    const eager = new Watching(store, '/registry/', start).start();
    const revisions = await createMany(1200, Buffer.alloc(30_000, 'x'));
    await eager.count(revisions.length);
    expect((await store.get(key(7)))?.value.length).toBe(30_000);
    await lazy.count(revisions.length);
    expect(lazy.events.map((event) => event.revision)).toEqual(revisions);
    await Promise.all([lazy.stop(), eager.stop()]);
  }, 120_000);

  test('with other writers in the same etcd a watch reaches every revision that currentRevision returns', async () => {
    const other = await openEtcdStorage({ endpoints: [server.endpoint], prefix: `${prefix}-other` });
    const watching = new Watching(store, '/registry/', await store.currentRevision()).start();
    for (let round = 0; round < 3; round++) {
      await other.create(key(round), bytes('x'));
      const own = await direct.create(key(round), bytes('x'));
      const foreign = await other.create(key(1000 + round), bytes('x'));
      const received = await store.currentRevision();
      expect(received).toBeGreaterThanOrEqual(foreign);
      await watching.until(({ batches }) => (batches.at(-1)?.revision ?? 0) >= received);
      expect(watching.events.map((event) => event.revision).at(-1)).toBe(own);
    }
    expect(watching.events).toHaveLength(3);
    expect((await store.list('/registry/', { limit: 2 })).remaining).toBe(1);
    expect((await store.list('', { limit: 0 })).items).toHaveLength(3);
    await Promise.all([watching.stop(), other.close()]);
  });
});

describe('writes', () => {
  test('a write whose response is lost is proven by the current state or reported as unknown, never repeated', async () => {
    const outcomes = new Map<string, number>();
    const start = await direct.currentRevision();
    const answers = new Map<string, number | string>();
    for (let i = 0; i < 40; i++) {
      const cut = proxy.cutAfter(1 + (i % 9) * 7);
      const answer = await store.create(key(i), bytes(`value ${i}`)).catch((error: unknown) => codeIn(error));
      answers.set(key(i), answer);
      outcomes.set(typeof answer === 'number' ? 'revision' : answer, i);
      // If the response arrived completely, the cut is still to come.
      await Promise.race([cut, store.currentRevision().catch(() => undefined)]);
    }
    const { items, revision } = await direct.list('/registry/');
    const found = new Map(items.map((item) => [item.key, item.revision]));
    for (const [name, answer] of answers) {
      if (typeof answer === 'number') expect(found.get(name)).toBe(answer);
      else expect(answer === 'Unavailable' ? found.has(name) : false).toBe(false);
    }
    const watching = await new Watching(direct, '/registry/', start).count(items.length);
    expect(new Set(watching.events.map((event) => event.key)).size).toBe(watching.events.length);
    expect(watching.events.every((event) => event.created && event.revision <= revision)).toBe(true);
    expect(outcomes.has('revision')).toBe(true);
    expect(outcomes.has('KeyExists')).toBe(false);
    await watching.stop();
  }, 120_000);

  test('an update whose response is lost returns its revision when no write followed it', async () => {
    const created = await direct.create(key(0), bytes('1'));
    await store.get(key(0));
    proxy.withhold();
    const updating = store.update(key(0), bytes('2'), created);
    await eventually(async () => expect((await direct.get(key(0)))?.value.toString()).toBe('2'));
    proxy.cut();
    proxy.resume();
    expect(await updating).toBe((await direct.get(key(0)))?.revision);
  });

  test('when another write followed, the outcome is unknown', async () => {
    const created = await direct.create(key(0), bytes('1'));
    await store.get(key(0));
    proxy.withhold();
    const updating = store.update(key(0), bytes('2'), created);
    await eventually(async () => {
      const now = await direct.get(key(0));
      expect(now?.value.toString()).toBe('2');
      await direct.update(key(0), bytes('3'), now?.revision ?? 0);
    });
    proxy.cut();
    proxy.resume();
    expect(await codeOf(updating)).toBe('OutcomeUnknown');
    expect((await direct.get(key(0)))?.value.toString()).toBe('3');
  });

  test('a lost update that another write has overtaken is a conflict', async () => {
    const created = await direct.create(key(0), bytes('1'));
    await store.get(key(0));
    proxy.pause();
    const updating = store.update(key(0), bytes('2'), created);
    const theirs = await direct.update(key(0), bytes('3'), created);
    proxy.cut();
    proxy.resume();
    await expect(updating).rejects.toMatchObject({ code: 'RevisionConflict', current: theirs });
    expect((await direct.get(key(0)))?.revision).toBe(theirs);
  });

  test('a write that was never sent is retried until the timeout, then refused', async () => {
    proxy.refuse();
    expect(['Unavailable', 'OutcomeUnknown']).toContain(await codeOf(store.create(key(0), bytes('1'))));
    expect(await codeOf(store.check())).toBe('Unavailable');
    expect(await codeOf(store.get(key(0)))).toBe('Unavailable');
    proxy.accept();
    await eventually(() => store.check());
    expect(await store.get(key(0))).toBeUndefined();
    await store.create(key(0), bytes('1'));
  });
});

function codeIn(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
