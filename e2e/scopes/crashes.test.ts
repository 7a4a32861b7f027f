import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, repetitions, type ChildServer } from '@multiplane/testing';
import { topologyName } from '../harness/start-control-plane.ts';
import type { LocalCluster } from '../harness/local-cluster.ts';
import type { Response } from '../harness/requests.ts';
import type { ShardedCluster } from '../harness/sharded-cluster.ts';
import { labelKey, Marketplace, mustSucceed, objectOf, userOf, type Cluster, type WatchEvent } from './marketplace.ts';

const transfer = 'scopes.multiplane.dev/transfer';
const record = 'scopes.multiplane.dev/finalizers';
const conditions = 'scopes.multiplane.dev/conditions';
const cancel = 'scopes.multiplane.dev/cancel-transfer';
const force = 'scopes.multiplane.dev/force-transfer';
const finalizer = 'a.example/cleanup';
const consumer = 'far';
const patient = { timeout: 60_000 };

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start(
    { transfer: 'WhenFinalizersGone', transferDeadlineSeconds: 0 },
    { ownProcesses: true },
  );
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

/** Sends a write, kills a process meanwhile, and starts it again. Whether the write was stored is not known afterwards. */
async function crashDuring(server: ChildServer, write: () => Promise<unknown>, afterMs: number): Promise<void> {
  const written = write().catch(() => undefined);
  if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
  await server.kill();
  await server.start();
  // A write that waited for the process is done by now, or it fails.
  await written;
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

interface Step {
  readonly what: string;
  readonly write: (name: string) => Promise<Response>;
  readonly isDone: (object: Cluster | undefined) => boolean;
}

const own = (name: string): string => market.own(consumer, name);
const finalizersOf = (scope: string, finalizers: string[] | null) => (name: string) =>
  market.patch(market.in(scope, consumer, name), { metadata: { finalizers } }, userOf(scope));
const isIn = (object: Cluster | undefined, scope: string): boolean => object?.metadata.labels?.[labelKey] === scope;
const isPending = (object: Cluster | undefined): boolean => Object.hasOwn(object?.metadata.annotations ?? {}, transfer);
const isHeld = (object: Cluster | undefined): boolean => object?.metadata.finalizers?.includes(finalizer) === true;

/** Every write of the protocol, in an order in which each is possible. */
const steps: readonly Step[] = [
  {
    what: 'the assignment at the creation',
    write: (name) => market.create(consumer, name, { [labelKey]: 'a' }),
    isDone: (object) => isIn(object, 'a'),
  },
  { what: 'a finalizer that is recorded', write: finalizersOf('a', [finalizer]), isDone: isHeld },
  { what: 'the request', write: (name) => market.move(consumer, name, 'b'), isDone: isPending },
  {
    what: 'the cancellation',
    write: (name) => market.patch(own(name), { metadata: { annotations: { [cancel]: 'true' } } }, 'masters'),
    isDone: (object) => isIn(object, 'a') && !isPending(object),
  },
  { what: 'the request again', write: (name) => market.move(consumer, name, 'b'), isDone: isPending },
  { what: 'the release, which moves it', write: finalizersOf('a', null), isDone: (object) => isIn(object, 'b') },
  { what: 'a finalizer of the new provider', write: finalizersOf('b', [finalizer]), isDone: isHeld },
  { what: 'the request to move it back', write: (name) => market.move(consumer, name, 'a'), isDone: isPending },
  {
    what: 'the forced move',
    write: (name) => market.move(consumer, name, 'a', { [force]: 'true' }),
    isDone: (object) => isIn(object, 'a'),
  },
];

/** The object, undefined if it does not exist; waits until the control plane answers. */
const present = (name: string): Promise<Cluster | undefined> =>
  eventually(async () => {
    const response = await market.shared.requests.send({ path: own(name) });
    return response.status === 404 && response.json['reason'] === 'NotFound' ? undefined : objectOf(response);
  }, patient);

/** What holds before and after every write, and never anything else. */
function expectConsistent(object: Cluster | undefined): void {
  if (object === undefined) return;
  const { labels, annotations = {} } = object.metadata;
  expect(['a', 'b']).toContain(labels?.[labelKey]);
  expect(Object.hasOwn(annotations, record)).toBe(isHeld(object));
  expect(Object.hasOwn(annotations, conditions)).toBe(isPending(object));
  if (isPending(object)) expect(isHeld(object)).toBe(true);
}

const victims =
  topologyName === 'sharded'
    ? ['shard-shard-1', 'virtual-workspaces-shard-1', 'front-proxy', 'etcd-shard-1']
    : ['the server', 'the server once more'];

/** At each step one victim is killed, another one each time; `hack/soak` kills each of them at every step. */
const isKilled = (victim: string, step: number): boolean =>
  (step + victims.indexOf(victim)) % victims.length < repetitions(1);

test.each(victims)(
  'a transfer survives kill -9 of %s at its steps',
  async (victim) => {
    const { cluster } = market.shared;
    const server =
      topologyName === 'sharded' ? (cluster as ShardedCluster).process(victim) : (cluster as LocalCluster).process;
    const name = `crash-${victims.indexOf(victim)}`;
    const { json: list } = await eventually(
      async () => mustSucceed(await market.list('a', consumer, 'user-1')),
      patient,
    );
    const { resourceVersion: start } = list['metadata'] as { resourceVersion: string };
    for (const [index, { what, write, isDone }] of steps.entries()) {
      const delayMs = [0, 2, 5, 15][(index + victims.indexOf(victim)) % 4] ?? 0;
      if (isKilled(victim, index)) await crashDuring(server, () => write(name), delayMs);
      const after = await present(name);
      expectConsistent(after);
      // Stored or not; the client repeats it until it is.
      await eventually(async () => {
        if (isDone(await present(name))) return;
        const { status, text } = await write(name);
        throw new Error(`${what}: ${status} ${text}`);
      }, patient);
      expectConsistent(await present(name));
    }
    for (const [scope, status] of [
      ['a', 200],
      ['b', 404],
    ] as const)
      await eventually(
        async () => expect((await market.get(scope, consumer, name, userOf(scope))).status).toBe(status),
        patient,
      );
    // A watcher that reconnects with a revision from before all crashes sees both moves, each at one revision, or 410.
    const histories = [await historyOf('a', name, start), await historyOf('b', name, start)];
    const [inA, inB] = histories.map((history) => history?.filter((event) => !event.startsWith('MODIFIED')));
    if (inA !== undefined) expect(inA.map((event) => event.split(' ')[0])).toEqual(['ADDED', 'DELETED', 'ADDED']);
    if (inB !== undefined) expect(inB.map((event) => event.split(' ')[0])).toEqual(['ADDED', 'DELETED']);
    if (inA !== undefined && inB !== undefined)
      expect([inA[1], inA[2]].map(revisionOf)).toEqual([inB[0], inB[1]].map(revisionOf));
  },
  600_000,
);

const revisionOf = (event: string | undefined): string | undefined => event?.split(' ')[1];
