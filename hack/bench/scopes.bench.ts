/*
 * Scopes of an APIExport at scale (issue 20, part 4): 1,000 scopes of one export, 100,000 objects over 1,000 workspaces of one
 * process, through the virtual workspace. Figures beside the name choose other numbers: workspaces, objects, scopes;
 * a last word `field` divides by a field of the spec instead of a label.
 *
 * Events: in every round 200 objects a second are written, one after the other of all scopes ("all") or of one scope
 * ("alone"). "All" has a watch for each scope, "alone" for the one scope only, so that both deliver as many events: each write
 * to one watch. The figure is the processor time of the server for a write and its event.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { ServerProcess } from './api/server-process.ts';
import { atRate, get, many } from './load.ts';
import { report } from './report.ts';
import { dispatchTimes, type ScopeKeyKind } from './scopes/dispatch.ts';
import { Market } from './scopes/market.ts';
import { WatchDeliveries } from './virtual-resources/watch-deliveries.ts';

const [workspaces = 1_000, objects = 100_000, scopes = 1_000] = process.argv.slice(2, 5).map(Number);
const by = process.argv[5] === 'field' ? 'field' : 'label';
/** Rows of both kinds stand beside each other. */
const suffix = by === 'field' ? ', by a field' : '';
const clients = 16;
const perSecond = 200;
const roundSeconds = 4;
const rounds = 2;
const timedScopes = Math.min(100, Math.trunc(scopes / 4));
const perScope = objects / scopes;
const sortedNumbers = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const share = (values: readonly number[], part: number): number =>
  sortedNumbers(values)[Math.min(values.length - 1, Math.trunc(values.length * part))] as number;

console.log(`\nScopes of an APIExport: ${scopes} scopes, ${objects} objects, ${workspaces} workspaces, by a ${by}`);
await measureDispatch('label');
await measureDispatch('field');
const server = await ServerProcess.create();
const market = new Market({ workspaces, objects, scopes, by }, { server });
try {
  await market.setUp();
  await measure();
} finally {
  await server.remove();
}

async function measureDispatch(kind: ScopeKeyKind): Promise<void> {
  const { all, alone, unindexed, unwatched } = await dispatchTimes(scopes, kind);
  report({
    name: `watch cache: an event with ${scopes} scopes${kind === 'field' ? ' by a field' : ''} watched, processor time`,
    baseline: 'one scope alone',
    value: all / alone,
    unit: 'x',
    target: { atMost: 2 },
    note: `${all.toFixed(1)} µs against ${alone.toFixed(1)} µs, the write to a store in memory included; ${unwatched.toFixed(1)} µs without a watch, ${unindexed.toFixed(1)} µs without the index`,
  });
}

async function measure(): Promise<void> {
  const before = await atRest();
  let transport = server.transport();
  await measureNewScopes(transport);
  transport.close();
  const after = await atRest();
  transport = server.transport();
  await many(scopes, clients, (scope) => market.listed(transport, scope, '?limit=1'));
  const used = await server.retained();
  const perScopeKiB = ({ anonymous, held }: typeof used): [string, string] =>
    [anonymous - before.anonymous, held - before.held].map((bytes) => (bytes / scopes / 1024).toFixed(1)) as [
      string,
      string,
    ];
  const [[, heldAtRest], [inUse, heldInUse]] = [perScopeKiB(after), perScopeKiB(used)];
  report({
    name: `memory per scope${suffix}`,
    value: (after.anonymous - before.anonymous) / scopes / 1024,
    unit: 'KiB',
    target: { atMost: 30 },
    note: `at rest, ${scopes} scopes of ${perScope} objects; ${heldAtRest} KiB of it in heap and buffers; once each was requested, ${inUse} and ${heldInUse} KiB`,
  });
  await measureLists(transport);
  await measureEvents(transport);
  const hold = await server.longestHold();
  report({
    name: `longest event-loop hold with scopes${suffix}`,
    value: hold.own,
    unit: 'ms',
    target: { atMost: 50 },
    note: `without waiting for a processor, over three starts, the construction of the index included; ${Math.round(hold.byClock)} ms by the clock, ${Math.round(hold.worked)} ms of processor time`,
  });
  transport.close();
}

/** The first scope builds the index; the last ones come one by one. */
async function measureNewScopes(transport: RestTransport): Promise<void> {
  const served = async (scope: number): Promise<number> => {
    const began = performance.now();
    await market.createScope(transport, scope);
    await eventually(
      async () => {
        const listed = await market.listed(transport, scope);
        if (listed !== perScope) throw new Error(`${listed} objects were listed`);
      },
      { timeout: 60_000, interval: 2 },
    );
    return performance.now() - began;
  };
  const first = await served(0);
  const rest = scopes - timedScopes;
  const busy = server.processorSeconds;
  await many(rest - 1, clients, (index) => market.createScope(transport, index + 1));
  // What the others made controllers do is over.
  await quiet();
  const perScopeMs = ((server.processorSeconds - busy) * 1000) / (rest - 1);
  await served(rest);
  const times: number[] = [];
  for (let scope = rest + 1; scope < scopes; scope++) times.push(await served(scope));
  report({
    name: `new scope to a list of its ${perScope} objects, p99${suffix}`,
    value: share(times, 0.99),
    unit: 'ms',
    target: { atMost: 100 },
    note: `${times.length} scopes one after the other, beside ${rest}; p50 ${share(times, 0.5).toFixed(0)} ms; the first of a key, which indexes ${objects} objects, ${first.toFixed(0)} ms; ${perScopeMs.toFixed(1)} ms of processor time each until all is quiet`,
  });
}

async function measureLists(transport: RestTransport): Promise<void> {
  const list = async (scope: number): Promise<number> => {
    const began = performance.now();
    await market.listed(transport, scope);
    return performance.now() - began;
  };
  const some = Math.min(100, scopes);
  // The first read of an object checks it against its schema.
  const cold: number[] = [];
  for (let scope = 0; scope < some; scope++) cold.push(await list(scope));
  const times: number[] = [];
  const busy = server.processorSeconds;
  const count = some * 4;
  for (let n = 0; n < count; n++) times.push(await list((n * 7) % some));
  report({
    name: `list of a scope of ${perScope} objects, p50${suffix}`,
    value: share(times, 0.5),
    unit: 'ms',
    target: { atMost: 5 },
    note: `of ${objects} objects in all, through the virtual workspace; objects that were not read before ${share(cold, 0.5).toFixed(1)} ms; p99 ${share(times, 0.99).toFixed(1)} ms, processor time ${(((server.processorSeconds - busy) * 1000) / count).toFixed(1)} ms`,
  });
}

async function measureEvents(transport: RestTransport): Promise<void> {
  const file = join(server.directory, 'watches');
  const all: number[] = [];
  const alone: number[] = [];
  const unwatched: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const from = await revision(transport);
    const watch = (scope: number): string => `${market.view(scope)}?watch=1&resourceVersion=${from}`;
    writeFileSync(file, Array.from({ length: scopes }, (_, scope) => watch(scope)).join('\n'));
    all.push(
      await eventRound(transport, { path: `@${file}`, watchers: scopes }, (n) => market.objectOf(n % scopes, n)),
    );
    const own = `${market.view(round)}?watch=1&resourceVersion=${await revision(transport)}`;
    alone.push(await eventRound(transport, { path: own, watchers: 1 }, (n) => market.objectOf(round, n)));
    unwatched.push(await eventRound(transport, undefined, (n) => market.objectOf(n % scopes, n)));
  }
  const [a, b, c] = [all, alone, unwatched].map((times) => Math.min(...times)) as [number, number, number];
  report({
    name: `events of ${scopes} scopes at ${perSecond} writes/s, processor time${suffix}`,
    baseline: 'as many events of one scope alone',
    value: a / b,
    unit: 'x',
    target: { atMost: 2 },
    note: `${a.toFixed(0)} µs for a write and its event against ${b.toFixed(0)} µs; ${c.toFixed(0)} µs for a write that nothing watches`,
  });
}

/** Microseconds of the server's processor time for a write; every write is one event if anything watches. */
async function eventRound(
  transport: RestTransport,
  watched: { readonly path: string; readonly watchers: number } | undefined,
  object: (n: number) => string,
): Promise<number> {
  const { port, token } = server;
  const deliveries = watched && (await WatchDeliveries.start({ port, token, ...watched, connections: 8 }));
  await quiet();
  deliveries?.reset();
  const count = perSecond * roundSeconds;
  const began = server.processorSeconds;
  await atRate(count, perSecond, (n) => patch(transport, object(n)));
  if (deliveries !== undefined)
    await eventually(
      () => {
        if (deliveries.count !== count)
          throw new Error(`${deliveries.count} of ${count} events were delivered, ${deliveries.ended} watches ended`);
      },
      { timeout: 60_000, interval: 100 },
    );
  const took = server.processorSeconds - began;
  deliveries?.stop();
  return (took / count) * 1e6;
}

/** The present one: a watch from there begins without events of existing objects. */
async function revision(transport: RestTransport): Promise<string> {
  const path = `${market.view(0)}?limit=1`;
  return (await get<{ metadata: { resourceVersion: string } }>(transport, path)).metadata.resourceVersion;
}

async function patch(transport: RestTransport, path: string): Promise<void> {
  await transport.json({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata: { annotations: { 'bench/sent': String(Date.now()) } } }),
  });
}

/** Memory of a server that has just started, in which nothing that writes fill has been filled. */
async function atRest(): Promise<{ readonly anonymous: number; readonly held: number }> {
  await server.stop();
  await market.forgetHistory();
  await server.start();
  await quiet();
  let least = await server.retained();
  for (let i = 0; i < 2; i++) {
    const look = await server.retained();
    if (look.anonymous < least.anonymous) least = look;
  }
  return least;
}

/** Waits until the server has finished what it began. */
async function quiet(): Promise<void> {
  for (let times = 0; times < 2;) {
    const before = server.processorSeconds;
    await wait(250);
    times = server.processorSeconds - before < 0.025 ? times + 1 : 0;
  }
}
