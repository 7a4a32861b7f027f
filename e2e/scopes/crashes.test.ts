import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, type ChildServer } from '@multiplane/testing';
import { topologyName } from '../harness/control-plane.ts';
import type { LocalCluster } from '../harness/local-cluster.ts';
import type { ShardedCluster } from '../harness/sharded-cluster.ts';
import { labelKey, Marketplace, mustSucceed, objectOf, userOf, type Cluster, type WatchEvent } from './marketplace.ts';

const transfer = 'scopes.multiplane.dev/transfer';
const finalizer = 'a.example/cleanup';
const consumer = 'far';
const patient = { timeout: 60_000 };

let market: Marketplace;
/** Has the objects of the consumer. */
let shard: ChildServer;
beforeAll(async () => {
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone' });
  const { cluster } = market.shared;
  shard =
    topologyName === 'sharded'
      ? (cluster as ShardedCluster).process('shard-shard-1')
      : (cluster as LocalCluster).process;
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const current = (name: string): Promise<Cluster> =>
  eventually(async () => objectOf(await market.shared.requests.send({ path: market.own(consumer, name) })), patient);

/** Sends a write, kills the shard meanwhile, and starts it again. Whether the write was stored is not known afterwards. */
async function crashDuring(write: () => Promise<unknown>, afterMs: number): Promise<void> {
  const written = write().catch(() => undefined);
  if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
  await shard.kill();
  await written;
  await shard.start();
}

/** Types and revisions of the events of an object in a scope after a revision; undefined: the history is gone (410). */
async function historyOf(scope: string, name: string, from: string): Promise<string[] | undefined> {
  const watch = await eventually(async () => {
    const opened = await market.watch(scope, consumer, `&resourceVersion=${from}&timeoutSeconds=1`);
    if (opened.status !== 200 && opened.status !== 410) throw new Error(`status ${opened.status}`);
    return opened;
  }, patient);
  await eventually(() => expect(watch.ended).toBe(true), patient);
  const events = watch.events as unknown as WatchEvent[];
  if (watch.status === 410 || events.some(({ type }) => type === 'ERROR')) return undefined;
  return events
    .filter(({ object }) => object.metadata.name === name)
    .map(({ type, object }) => `${type} ${object.metadata.resourceVersion}`);
}

test('a transfer survives kill -9 of the shard at any step', async () => {
  for (const [round, delay] of [0, 2, 5, 15].entries()) {
    const name = `crash-${round}`;
    await eventually(async () => mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' })), patient);
    const inA = market.in('a', consumer, name);
    const before = await eventually(
      async () => objectOf(await market.patch(inA, { metadata: { finalizers: [finalizer] } }, 'user-1')),
      patient,
    );

    await crashDuring(() => market.move(consumer, name, 'b'), delay);
    const requested = await current(name);
    expect(requested.metadata.labels).toEqual({ [labelKey]: 'a' });
    // Requested or not, it is held by its finalizer. A repeated request changes nothing.
    await eventually(async () => mustSucceed(await market.move(consumer, name, 'b')), patient);
    expect((await current(name)).metadata.annotations).toHaveProperty([transfer]);

    const release = () => market.patch(inA, { metadata: { finalizers: null } }, 'user-1');
    await crashDuring(release, delay);
    const after = await current(name);
    const isMoved = after.metadata.labels?.[labelKey] === 'b';
    // Before or after the write, never between.
    expect(after.metadata.finalizers ?? []).toEqual(isMoved ? [] : [finalizer]);
    expect(Object.hasOwn(after.metadata.annotations ?? {}, transfer)).toBe(!isMoved);
    if (!isMoved) await eventually(async () => mustSucceed(await release()), patient);

    const moved = await current(name);
    expect(moved.metadata.labels).toEqual({ [labelKey]: 'b' });
    for (const [scope, status] of [
      ['a', 404],
      ['b', 200],
    ] as const)
      await eventually(
        async () => expect((await market.get(scope, consumer, name, userOf(scope))).status).toBe(status),
        patient,
      );
    // A watcher that reconnects with a revision from before both crashes sees one move, at one revision, or 410.
    const { resourceVersion: from } = before.metadata;
    const [inOld, inNew] = [await historyOf('a', name, from), await historyOf('b', name, from)];
    const revision = moved.metadata.resourceVersion;
    if (inOld !== undefined) {
      expect(inOld.at(-1)).toBe(`DELETED ${revision}`);
      expect(inOld.filter((event) => event.startsWith('DELETED')).length).toBe(1);
    }
    if (inNew !== undefined) expect(inNew).toEqual([`ADDED ${revision}`]);
  }
}, 240_000);
