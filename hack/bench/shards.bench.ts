import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { StartedShards } from '../../e2e/harness/started-shards.ts';
import { createWorkspace } from '../../e2e/harness/workspaces.ts';
import { get, many, post } from './load.ts';
import { processorSeconds } from './processor-time.ts';
import { report } from './report.ts';

/*
 * `multiplane start --shards 2` against one process: the same requests to two workspaces, which are on one shard each. The client
 * and all processes share the processors of this machine, so the rates are by the processor time of the process that works most for a
 * request: what bounds the rate when each has a processor of its own.
 */
const clients = 16;
const warmUp = 3000;
const requests = 3000;
const rounds = 3;
const settleMs = 15_000;

console.log('\nAll cores of one machine');
const single = await StartedShards.create();
const sharded = await StartedShards.create();
try {
  await single.start('--console=false');
  await sharded.start('--shards=2', '--console=false');
  const one = await prepared(single, ['a', 'b'], [undefined, undefined]);
  const two = await prepared(sharded, ['a', 'b'], ['root', 'shard-1']);
  const processes = await eventually(() => {
    if (sharded.processes.size !== 4) throw new Error(`${sharded.processes.size} processes are ready`);
    return sharded.processes;
  });
  // What the start left to collect is no part of a shard.
  await wait(settleMs);
  const held = memoryOf(processes.get('shard-shard-1') as number);
  report({
    name: 'memory of a further shard on one machine, before its load',
    value: held.own,
    unit: 'MiB',
    target: { atMost: 120 },
    note: `its share of pages that processes have in common included (PSS); resident ${Math.round(held.resident)} MiB`,
  });
  const alone = new Map([['one process', single.pid as number]]);
  const verbs = { CREATE: create, GET: read } as const;
  for (const [verb, work] of Object.entries(verbs)) {
    await work(one, 'warm', warmUp);
    await work(two, 'warm', warmUp);
    const costs: { one: Cost[]; two: Cost[] } = { one: [], two: [] };
    for (let round = 0; round < rounds; round++) {
      costs.one.push(await measured(alone, () => work(one, `r${round}`, requests)));
      costs.two.push(await measured(processes, () => work(two, `r${round}`, requests)));
    }
    const [ofOne, ofTwo] = [busiest(costs.one), busiest(costs.two)];
    report({
      name: `${verb} over two shards of one machine, each process on a core of its own`,
      baseline: 'one process',
      value: ofOne.micros / ofTwo.micros,
      unit: 'x',
      target: { atLeast: 1.8 },
      note: `processor time for a request: ${Math.round(ofOne.micros)} µs of ${ofOne.name}; ${list(costs.two)}`,
    });
  }
  one.close();
  two.close();
} finally {
  await single[Symbol.asyncDispose]();
  await sharded[Symbol.asyncDispose]();
}

/** Microseconds of each process for a request. */
type Cost = ReadonlyMap<string, number>;

async function prepared(
  place: StartedShards,
  names: readonly string[],
  shards: readonly (string | undefined)[],
): Promise<RestTransport> {
  const admin = place.transport('base');
  for (const [index, name] of names.entries()) {
    const shard = shards[index];
    await createWorkspace(admin, 'root', name, shard === undefined ? {} : { shard });
  }
  return admin;
}

function pathOf(index: number): string {
  return `/clusters/root:${index % 2 === 0 ? 'a' : 'b'}/api/v1/namespaces/default/configmaps`;
}

function create(transport: RestTransport, prefix: string, count: number): Promise<void> {
  const data = { key: 'x'.repeat(500) };
  return many(count, clients, (index) =>
    post(transport, pathOf(index), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${prefix}-${index}` },
      data,
    }),
  );
}

function read(transport: RestTransport, _prefix: string, count: number): Promise<void> {
  return many(count, clients, (index) => get(transport, `${pathOf(index)}/warm-${index}`));
}

async function measured(processes: ReadonlyMap<string, number>, work: () => Promise<void>): Promise<Cost> {
  const seconds = (): Map<string, number> =>
    new Map([...processes].map(([name, pid]) => [name, processorSeconds({ pid })]));
  const before = seconds();
  await work();
  return new Map([...seconds()].map(([name, after]) => [name, ((after - (before.get(name) ?? 0)) / requests) * 1e6]));
}

function means(costs: readonly Cost[]): [string, number][] {
  return [...(costs[0]?.keys() ?? [])].map((name) => [
    name,
    costs.reduce((sum, cost) => sum + (cost.get(name) ?? 0), 0) / costs.length,
  ]);
}

function busiest(costs: readonly Cost[]): { readonly name: string; readonly micros: number } {
  const [name, micros] = means(costs).toSorted((a, b) => b[1] - a[1])[0] as [string, number];
  return { name, micros };
}

function list(costs: readonly Cost[]): string {
  return means(costs)
    .map(([name, micros]) => `${Math.round(micros)} of ${name}`)
    .join(', ');
}

function memoryOf(pid: number): { readonly own: number; readonly resident: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const value = (name: string): number => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(text)?.[1]) / 1024;
  return { own: value('Pss'), resident: value('Rss') };
}
