/**
 * The acceptance tests that kcp's trial of a filtered virtual workspace failed, by name.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import {
  clusterObject,
  eventsOf,
  finalizer,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  scopeOf,
  summary,
  userOf,
  type Cluster,
  type WatchEvent,
} from './marketplace.ts';

const transfer = 'scopes.multiplane.dev/transfer';
const record = 'scopes.multiplane.dev/finalizers';
const conditions = 'scopes.multiplane.dev/conditions';
const force = 'scopes.multiplane.dev/force-transfer';

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
  test('label move with watchers on both sides: DELETED in one scope and ADDED in the other, at the same revision', async () => {
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

  test('reconnect before and after: a watch gets the same history from every revision', async () => {
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

  test('finalizer of the old provider: the object stays until it is gone, then moves', async () => {
    const name = `held-${consumer}`;
    await market.createHeld(consumer, name);
    expect((await market.current(consumer, name)).metadata.annotations?.[record]).toBe(
      JSON.stringify({ [labelKey]: [finalizer] }),
    );
    const [a, b] = [await market.watch('a', consumer), await market.watch('b', consumer)];
    const pending = objectOf(await market.move(consumer, name, 'b'));
    expect(scopeOf(pending)).toBe('a');
    expect(JSON.parse(pending.metadata.annotations?.[transfer] ?? '')).toMatchObject({
      [labelKey]: { from: 'a', to: 'b' },
    });
    expect(JSON.parse(pending.metadata.annotations?.[conditions] ?? '')).toEqual([
      expect.objectContaining({
        type: 'TransferPending',
        status: 'True',
        reason: 'WaitingForFinalizers',
        message: expect.stringContaining(finalizer),
      }),
    ]);
    // The old provider still has it, the new one does not.
    mustSucceed(await market.patch(market.in('a', consumer, name), { spec: { size: 5 } }, 'user-1'));
    expect((await market.patch(market.in('b', consumer, name), { spec: { size: 6 } }, 'user-2')).status).toBe(404);
    const more = { metadata: { finalizers: [finalizer, 'a.example/more'] } };
    const refused = await market.patch(market.in('a', consumer, name), more, 'user-1');
    expect([refused.status, refused.json['message']]).toEqual([403, expect.stringContaining('waits for its transfer')]);
    // The write that removes the last finalizer moves it.
    const released = await market.patch(market.in('a', consumer, name), { metadata: { finalizers: null } }, 'user-1');
    const moved = objectOf(released);
    expect(scopeOf(moved)).toBe('b');
    for (const annotation of [transfer, record, conditions])
      expect(moved.metadata.annotations ?? {}).not.toHaveProperty([annotation]);
    expect((await market.get('a', consumer, name)).status).toBe(404);
    expect(objectOf(await market.get('b', consumer, name)).spec).toEqual({ size: 5 });
    const last = `${name} ${moved.metadata.resourceVersion}`;
    await eventually(async () => {
      expect(summary(await eventsOf(a, 1))).toContain(`DELETED ${last}`);
      expect(summary(await eventsOf(b, 1))).toContain(`ADDED ${last}`);
    });
    a.close();
    b.close();
  });

  test('no write that moves an object out: neither by the consumer nor by a provider', async () => {
    const name = `kept-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    const own = market.own(consumer, name);
    const through = market.in('a', consumer, name);
    const object = await market.current(consumer, name);
    const { requests } = market.shared;
    const elsewhere = clusterObject(name, { labels: { [labelKey]: 'b' } });
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    for (const [as, path] of [
      ['user-3', own],
      ['user-1', through],
    ] as const) {
      for (const labels of [{ [labelKey]: 'b' }, { [labelKey]: null }, { [labelKey]: 'unknown' }, null]) {
        const { status, json } = await market.patch(path, { metadata: { labels } }, as);
        expect({ as, labels, status, json }).toMatchObject({ as, labels, status: 403 });
      }
      const put = await requests.send({
        as,
        method: 'PUT',
        path,
        body: { ...object, metadata: { ...object.metadata, labels: { [labelKey]: 'b' } } },
      });
      expect(put.status).toBe(403);
      const applied = await requests.send({
        as,
        method: 'PATCH',
        path: `${path}?fieldManager=m&force=true`,
        headers: apply,
        body: elsewhere,
      });
      expect(applied.status).toBe(403);
      // A write of the status has no effect on labels.
      const status = { metadata: { labels: { [labelKey]: 'b' } }, status: { phase: 'Up' } };
      mustSucceed(await market.patch(`${path}/status`, status, as));
    }
    // The records are written by the server only.
    const forged = {
      [labelKey]: { from: 'a', to: 'b', requestedAt: '2020-01-01T00:00:00Z', deadline: '2020-01-01T00:00:00Z' },
    };
    const annotations = { [transfer]: JSON.stringify(forged), [conditions]: '[]', [force]: 'true' };
    for (const [as, path] of [
      ['user-3', own],
      ['user-1', through],
    ] as const)
      mustSucceed(await market.patch(path, { metadata: { annotations } }, as));
    const after = await market.current(consumer, name);
    expect(scopeOf(after)).toBe('a');
    for (const annotation of [transfer, conditions, force])
      expect(after.metadata.annotations ?? {}).not.toHaveProperty([annotation]);
  });

  test('bookmarks and initial events per scope', async () => {
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

test('a token for A is refused on B, whether or not a scope exists', async () => {
  for (const path of [
    '',
    '/api',
    '/apis',
    '/apis/marketplace.example/v1',
    '/openapi/v3',
    '/version',
    '/apis/marketplace.example/v1/clusters',
    '/apis/marketplace.example/v1/namespaces/default/clusters/x',
    '/apis/unknown.example/v1/things',
  ])
    for (const scope of ['b', 'missing'])
      for (const cluster of ['*', market.shared.clusters.get('near')]) {
        const url = `${market.base(scope)}/clusters/${cluster}${path}`;
        const { status, text } = await market.shared.requests.send({ as: 'user-1', path: url });
        expect({ url, status }).toEqual({ url, status: 403 });
        expect(text.replaceAll(`\\"${scope}\\"`, '')).not.toContain('APIExport ');
      }
  // The same message for a scope that exists and one that does not.
  const [of, ofMissing] = await Promise.all(
    ['b', 'missing'].map(async (scope) => (await market.list(scope, 'near', 'user-1')).text),
  );
  expect(of?.replaceAll('"b\\"', '"*\\"')).toBe(ofMissing?.replaceAll('"missing\\"', '"*\\"'));
});
