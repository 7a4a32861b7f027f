import { setTimeout as wait } from 'node:timers/promises';
import type { JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { many, readyWorkspaces } from './load.ts';
import { processorSeconds } from './processor-time.ts';
import { ReadyTimes } from './ready-times.ts';
import { report } from './report.ts';

/*
 * Workspaces made over two shards against workspaces made on one of them, in the same sharded control plane: all below a
 * workspace of that shard, and half below a workspace of each, wherever they are then scheduled to.
 *
 * "Each on its own core" (issue 4) is more cores than this machine has: nine processes and the client share two. What
 * would bound the rate there is the process that works most for a workspace. So the processor time of each process is
 * taken while workspaces are made, and the rates are those of the busiest process: workspaces per second of its time.
 */
const workspaces = 150;
const warmUp = 200;
/** Of each parent: a shard is as busy with its part alone as it is beside another. */
const clients = 16;
const rounds = 2;
/** All processes together work no longer than this of so long, so none of them has anything to do. */
const quietMs = 1000;
const quietSeconds = 0.15;
const mostLooks = 20;

type Seconds = ReadonlyMap<string, number>;

interface Round {
  readonly seconds: Seconds;
  readonly took: number;
}

export async function measureOverShards(): Promise<void> {
  const cluster = await ShardedCluster.start();
  const transport = cluster.transport('root');
  try {
    const parents = await Promise.all(cluster.shards.map((shard) => parentOn(transport, shard)));
    const onOne = { location: { selector: { matchLabels: { name: cluster.shards[0] as string } } } };
    const one = (prefix: string, count: number): Promise<void> =>
      make(transport, parents.slice(0, 1), { prefix, count, spec: onOne });
    const two = (prefix: string, count: number): Promise<void> => make(transport, parents, { prefix, count, spec: {} });
    // Two processes have to become warm, not one.
    await two('warm-two', warmUp * 2);
    await one('warm-one', warmUp);
    const measured: { one: Round[]; two: Round[] } = { one: [], two: [] };
    for (let n = 0; n < rounds; n++) {
      measured.one.push(await timed(cluster, () => one(`one-${n}`, workspaces)));
      measured.two.push(await timed(cluster, () => two(`two-${n}`, workspaces)));
    }
    reportRounds(measured);
  } finally {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  }
}

function reportRounds(measured: { readonly one: readonly Round[]; readonly two: readonly Round[] }): void {
  const [one, two] = [busiest(measured.one), busiest(measured.two)];
  report({
    name: 'workspaces to Ready over two shards, each process on a core of its own',
    baseline: 'over one of them',
    value: one.seconds / two.seconds,
    unit: 'x',
    target: { atLeast: 1.5 },
    note: `by the busiest process: ${described(one)} against ${described(two)} of processor time; parents on both shards against one`,
  });
  const rate = (all: readonly Round[]): number =>
    (all.length * workspaces) / all.reduce((sum, { took }) => sum + took, 0);
  report({
    name: 'workspaces to Ready over two shards',
    baseline: 'over one of them',
    value: rate(measured.two) / rate(measured.one),
    unit: 'x',
    note: `${Math.round(rate(measured.two))}/s against ${Math.round(rate(measured.one))}/s by the clock; nine processes and the client on the same two processors, so no target`,
  });
}

/** The process that used most, and its processor seconds for a workspace. */
function busiest(all: readonly Round[]): { readonly name: string; readonly seconds: number } {
  let most = { name: '', seconds: 0 };
  for (const name of all[0]?.seconds.keys() ?? []) {
    const seconds = all.reduce((sum, round) => sum + (round.seconds.get(name) ?? 0), 0) / (all.length * workspaces);
    if (seconds > most.seconds) most = { name, seconds };
  }
  return most;
}

const described = ({ name, seconds }: { readonly name: string; readonly seconds: number }): string =>
  `${name} ${(seconds * 1000).toFixed(1)} ms`;

/** A workspace below root whose logical cluster is on a shard; its name. */
async function parentOn(transport: RestTransport, shard: string): Promise<string> {
  const [cluster] = await readyWorkspaces(transport, 'root', {
    count: 1,
    clients: 1,
    prefix: `parent-${shard}`,
    spec: { location: { selector: { matchLabels: { name: shard } } } },
  });
  return cluster as string;
}

/** Workspaces in equal parts below some parents; resolves when all of them are ready. */
async function make(
  transport: RestTransport,
  parents: readonly string[],
  { prefix, count, spec }: { readonly prefix: string; readonly count: number; readonly spec: JsonObject },
): Promise<void> {
  await Promise.all(
    parents.map(async (parent) => {
      // A watch: asking again and again would be most of the work.
      const times = new ReadyTimes(transport, prefix, { parent, spec });
      await times.open();
      await many(count / parents.length, clients, (index) => times.make(index));
      await times.all(count / parents.length);
      times.close();
    }),
  );
}

async function timed(cluster: ShardedCluster, work: () => Promise<void>): Promise<Round> {
  await quiet(cluster);
  const before = secondsOf(cluster);
  const began = performance.now();
  await work();
  const took = (performance.now() - began) / 1000;
  await quiet(cluster);
  const after = secondsOf(cluster);
  return { took, seconds: new Map([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)])) };
}

/** What a round leaves to do (service accounts of Ready workspaces) is its own, and not the next one's. */
async function quiet(cluster: ShardedCluster): Promise<void> {
  const total = (): number => [...secondsOf(cluster).values()].reduce((sum, seconds) => sum + seconds, 0);
  for (let before = total(), looks = 0; looks < mostLooks; looks++) {
    await wait(quietMs);
    const now = total();
    if (now - before < quietSeconds) return;
    before = now;
  }
}

function secondsOf(cluster: ShardedCluster): Seconds {
  return new Map(cluster.processes.map((name) => [name, processorSeconds(cluster.process(name))]));
}
