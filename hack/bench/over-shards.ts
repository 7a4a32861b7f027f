import { setTimeout as wait } from 'node:timers/promises';
import type { RestTransport } from '@multiplane/client';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { get, many, readyWorkspaces, workspacesIn } from './load.ts';
import { processorSeconds } from './processor-time.ts';
import { ReadyTimes } from './ready-times.ts';
import { report } from './report.ts';

/*
 * Workspaces made over two shards against workspaces made on one of them, in the same sharded control plane: all below a
 * workspace of one shard, and half below a workspace of each. Where they go is left to scheduling, and counted. Each shard
 * is the one in turn: the root shard has work beside, which belongs to neither side.
 *
 * "Each on its own core" (issue 4) is more cores than this machine has: nine processes and the client share two. What
 * would bound the rate there is the process that works most for a workspace. So the processor time of each process is
 * taken while workspaces are made, and the rates are those of the busiest process: workspaces per second of its time.
 */
/** Of a round: a full collection of garbage comes every few hundred, and two shards have twice as many as one. */
const workspaces = 500;
const warmUp = 400;
/** Of each parent: a shard is as busy with its part alone as it is beside another. */
const clients = 16;
/** Of each kind; as many with each shard for the one. */
const rounds = 2;
/** All processes together work no longer than this of so long, so none of them has anything to do. */
const quietMs = 1000;
const quietSeconds = 0.15;
const mostLooks = 20;

interface Round {
  /** Seconds that each process worked for a workspace. */
  readonly worked: ReadonlyMap<string, number>;
  readonly took: number;
}

/** A workspace to make others below, and the shard it lies on. */
interface Parent {
  readonly cluster: string;
  readonly shard: string;
}

export async function measureOverShards(): Promise<void> {
  const cluster = await ShardedCluster.start();
  const transport = cluster.transport('root');
  try {
    const parents = await Promise.all(cluster.shards.map((shard) => parentOn(transport, shard)));
    await make(transport, parents, 'warm', warmUp * parents.length);
    const measured: { one: Round[]; two: Round[] } = { one: [], two: [] };
    for (let n = 0; n < rounds; n++) {
      const one = parents.slice(n % parents.length).slice(0, 1);
      measured.one.push(await timed(cluster, () => make(transport, one, `one-${n}`, workspaces)));
      measured.two.push(await timed(cluster, () => make(transport, parents, `two-${n}`, workspaces)));
    }
    reportRounds(measured, await strayed(transport, parents));
  } finally {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  }
}

function reportRounds(
  { one, two }: { readonly one: readonly Round[]; readonly two: readonly Round[] },
  strays: number,
): void {
  // One shard at a time is the one: its rounds are of different processes. Over two shards the same two work in all rounds.
  const alone = one.map((round) => busiest([round]));
  const [ofOne, ofTwo] = [mean(alone.map(({ seconds }) => seconds)), busiest(two)];
  const milliseconds = (seconds: number): string => (seconds * 1000).toFixed(1);
  report({
    name: 'workspaces to Ready over two shards, each process on a core of its own',
    baseline: 'over one of them',
    value: ofOne / ofTwo.seconds,
    unit: 'x',
    target: { atLeast: 1.5 },
    note:
      `processor time of the busiest process for a workspace: ${alone.map(({ name, seconds }) => `${milliseconds(seconds)} ms of ${name}`).join(' and ')} ` +
      `below a workspace of one shard, ${milliseconds(ofTwo.seconds)} ms of ${ofTwo.name} below one of each; ` +
      `${strays} went to the shard that is not their parent's`,
  });
  const rate = (all: readonly Round[]): number => workspaces / mean(all.map(({ took }) => took));
  report({
    name: 'workspaces to Ready over two shards',
    baseline: 'over one of them',
    value: rate(two) / rate(one),
    unit: 'x',
    note: `${Math.round(rate(two))}/s against ${Math.round(rate(one))}/s by the clock; nine processes and the client on the same two processors, so no target`,
  });
}

/** The process that worked most for a workspace, in the mean of some rounds. */
function busiest(all: readonly Round[]): { readonly name: string; readonly seconds: number } {
  let most = { name: '', seconds: 0 };
  for (const name of all[0]?.worked.keys() ?? []) {
    const seconds = mean(all.map(({ worked }) => worked.get(name) ?? 0));
    if (seconds > most.seconds) most = { name, seconds };
  }
  return most;
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

/** A workspace below root whose logical cluster is on a shard. */
async function parentOn(transport: RestTransport, shard: string): Promise<Parent> {
  const [cluster] = await readyWorkspaces(transport, 'root', {
    count: 1,
    clients: 1,
    prefix: `parent-${shard}`,
    spec: { location: { selector: { matchLabels: { name: shard } } } },
  });
  return { cluster: cluster as string, shard };
}

/** Workspaces in equal parts below some parents; resolves when all of them are ready. */
async function make(
  transport: RestTransport,
  parents: readonly Parent[],
  prefix: string,
  count: number,
): Promise<void> {
  await Promise.all(
    parents.map(async ({ cluster: parent }) => {
      // A watch: asking again and again would be most of the work.
      const times = new ReadyTimes(transport, prefix, { parent });
      await times.open();
      await many(count / parents.length, clients, (index) => times.make(index));
      await times.all(count / parents.length);
      times.close();
    }),
  );
}

/** How many workspaces lie on another shard than their parent. */
async function strayed(transport: RestTransport, parents: readonly Parent[]): Promise<number> {
  let strays = 0;
  for (const { cluster, shard } of parents) {
    const { items } = await get<{ items: { metadata: { annotations: Record<string, string> } }[] }>(
      transport,
      workspacesIn(cluster),
    );
    strays += items.filter(({ metadata }) => metadata.annotations['core.kcp.io/shard'] !== shard).length;
  }
  return strays;
}

async function timed(cluster: ShardedCluster, work: () => Promise<void>): Promise<Round> {
  await quiet(cluster);
  const before = secondsOf(cluster);
  const began = performance.now();
  await work();
  const took = (performance.now() - began) / 1000;
  await quiet(cluster);
  const worked = [...secondsOf(cluster)].map(([name, value]): [string, number] => [
    name,
    (value - (before.get(name) ?? 0)) / workspaces,
  ]);
  return { took, worked: new Map(worked) };
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

function secondsOf(cluster: ShardedCluster): ReadonlyMap<string, number> {
  return new Map(cluster.processes.map((name) => [name, processorSeconds(cluster.process(name))]));
}
