import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import { Requests } from '../harness/requests.ts';
import { here, there } from '../harness/shared-apis.ts';
import {
  eventsOf,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  slicesPath,
  summary,
  userOf,
  type Cluster,
  type WatchEvent,
} from './marketplace.ts';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone', transferDeadlineSeconds: 0 });
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const revision = async (consumer: string): Promise<string> => {
  const { json } = mustSucceed(await market.list('a', consumer, 'user-1'));
  return (json['metadata'] as { resourceVersion: string }).resourceVersion;
};

/** Runs `use` with a watch of each scope from a revision on. */
async function watching<T>(
  consumer: string,
  from: string,
  use: (a: OpenWatch, b: OpenWatch) => Promise<T>,
): Promise<T> {
  const [a, b] = await Promise.all(
    ['a', 'b'].map((scope) => market.watch(scope, consumer, `&resourceVersion=${from}`)),
  );
  try {
    return await use(a as OpenWatch, b as OpenWatch);
  } finally {
    a?.close();
    b?.close();
  }
}

describe.each(['near', 'far'])('with the consumer %s', (consumer) => {
  test('a label move is DELETED in one scope and ADDED in the other, at the same revision', async () => {
    const name = `moved-${consumer}`;
    const start = await revision(consumer);
    await watching(consumer, start, async (a, b) => {
      const created = objectOf(await market.create(consumer, name, { [labelKey]: 'a' }));
      const moved = objectOf(await market.move(consumer, name, 'b'));
      const [added, deleted] = (await eventsOf(a, 2)) as [WatchEvent, WatchEvent];
      const [arrived] = (await eventsOf(b, 1)) as [WatchEvent];
      expect(summary([added, deleted, arrived])).toEqual([
        `ADDED ${name} ${created.metadata.resourceVersion}`,
        `DELETED ${name} ${moved.metadata.resourceVersion}`,
        `ADDED ${name} ${moved.metadata.resourceVersion}`,
      ]);
      // The last state that the old scope may see.
      expect(deleted.object.metadata.labels).toEqual({ [labelKey]: 'a' });
      expect(arrived.object.metadata.labels).toEqual({ [labelKey]: 'b' });
      // What happens in the new scope is no event of the old one, and a delete reaches the new one.
      const updated = await market.patch(market.in('b', consumer, name), { spec: { size: 9 } }, 'user-2');
      const gone = await market.shared.requests.send({
        as: 'user-3',
        method: 'DELETE',
        path: market.own(consumer, name),
      });
      mustSucceed(gone);
      const events = await eventsOf(b, 3);
      expect(summary(events).slice(1, 2)).toEqual([`MODIFIED ${name} ${objectOf(updated).metadata.resourceVersion}`]);
      expect(events[2]?.type).toBe('DELETED');
      expect((await eventsOf(a, 2)).length).toBe(2);
    });
  });

  test('a watch that reconnects before, at and after a move gets the same history', async () => {
    const name = `resumed-${consumer}`;
    const start = await revision(consumer);
    const created = objectOf(await market.create(consumer, name, { [labelKey]: 'a' }));
    const before = objectOf(await market.patch(market.in('a', consumer, name), { spec: { size: 2 } }, 'user-1'));
    const moved = objectOf(await market.move(consumer, name, 'b'));
    const after = objectOf(await market.patch(market.in('b', consumer, name), { spec: { size: 3 } }, 'user-2'));
    const back = objectOf(await market.move(consumer, name, 'a'));
    const at = ({ metadata }: Cluster): string => metadata.resourceVersion;
    const historyA = [
      `ADDED ${name} ${at(created)}`,
      `MODIFIED ${name} ${at(before)}`,
      `DELETED ${name} ${at(moved)}`,
      `ADDED ${name} ${at(back)}`,
    ];
    const historyB = [`ADDED ${name} ${at(moved)}`, `MODIFIED ${name} ${at(after)}`, `DELETED ${name} ${at(back)}`];
    for (const from of [start, at(created), at(before), at(moved), at(after), at(back)])
      await watching(consumer, from, async (a, b) => {
        const later = (text: string): boolean => Number(text.split(' ')[2]) > Number(from);
        const [expectedA, expectedB] = [historyA.filter(later), historyB.filter(later)];
        // A marker shows that nothing else comes.
        expect({ from, a: summary(await eventsOf(a, expectedA.length)) }).toEqual({ from, a: expectedA });
        expect({ from, b: summary(await eventsOf(b, expectedB.length)) }).toEqual({ from, b: expectedB });
      });
    // The history does not depend on the time of the connection: the last DELETED of b has the state from before the move.
    await watching(consumer, at(after), async (_a, b) => {
      const [deleted] = (await eventsOf(b, 1)) as [WatchEvent];
      expect(deleted.object).toMatchObject({ metadata: { labels: { [labelKey]: 'b' } }, spec: { size: 3 } });
    });
  });

  test('bookmarks and initial events are those of the scope', async () => {
    for (const [name, scope] of [
      ['i1', 'a'],
      ['i2', 'b'],
      ['i3', 'a'],
    ] as const)
      mustSucceed(await market.create(consumer, `${name}-${consumer}`, { [labelKey]: scope }));
    const query = '&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    for (const scope of ['a', 'b']) {
      const watch = await market.watch(scope, consumer, query);
      const events = watch.events as unknown as WatchEvent[];
      const end = await eventually(() => {
        const bookmark = events.find(({ type }) => type === 'BOOKMARK');
        if (bookmark === undefined) throw new Error(JSON.stringify(events));
        return Promise.resolve(bookmark);
      });
      watch.close();
      expect(end.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      const initial = events.slice(0, events.indexOf(end));
      expect(initial.every(({ type }) => type === 'ADDED')).toBe(true);
      const listed = mustSucceed(await market.list(scope, consumer, userOf(scope))).json['items'] as Cluster[];
      expect(initial.map(({ object }) => object.metadata.name).sort()).toEqual(
        listed.map(({ metadata }) => metadata.name).sort(),
      );
      expect(initial.every(({ object }) => object.metadata.labels?.[labelKey] === scope)).toBe(true);
    }
  });
});

test('a watch over all consumers of a shard has the objects of the scope on every shard', async () => {
  const endpoints = await eventually(
    async () => {
      const slice = mustSucceed(await market.shared.requests.send({ path: `${slicesPath}/a` })).json;
      const { endpoints: found = [] } = slice['status'] as { endpoints?: { url: string }[] };
      if (found.length !== (here === there ? 1 : 2)) throw new Error(JSON.stringify(found));
      return found;
    },
    { timeout: 30_000 },
  );
  for (const consumer of ['near', 'far'])
    mustSucceed(await market.create(consumer, `wide-${consumer}`, { [labelKey]: 'a' }));
  const seen: string[] = [];
  for (const { url } of endpoints) {
    const { origin, pathname } = new URL(url);
    using requests = new Requests({ url: origin, ca: market.shared.cluster.ca });
    const path = `${pathname}/clusters/*/apis/marketplace.example/v1/clusters`;
    await eventually(async () => {
      const { json } = mustSucceed(await requests.send({ as: 'user-1', path }));
      seen.push(...(json['items'] as Cluster[]).map(({ metadata }) => metadata.name));
    });
    expect((await requests.send({ as: 'user-2', path })).status).toBe(403);
  }
  expect(seen).toEqual(expect.arrayContaining(['wide-near', 'wide-far']));
});
