import { parseArgs } from 'node:util';
import { ShardedCluster } from '../../harness/sharded-cluster.ts';
import { faults, possibleFaults, startTarget } from './faults.ts';
import { Replicas, replicationFaults } from './replicas.ts';
import { runKills } from './run-kills.ts';

/** `hack/faults`: injects faults into a control plane for some minutes and checks the history of its clients. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    kills: { type: 'string' },
    backend: { type: 'string' },
    fault: { type: 'string', default: 'kill' },
    help: { type: 'boolean', default: false },
  },
});
const isMinutes = (text: string): boolean => Number(text) > 0;
const report = (text: string): void => void process.stdout.write(`${text}\n`);

function help(): string {
  const lines = (all: Readonly<Record<string, { readonly description: string }>>): string[] =>
    Object.entries(all).map(([name, { description }]) => `  ${name.padEnd(14)}${description}`);
  return [
    'Usage: hack/faults [--minutes N] [--kills N] [--backend file|etcd|memory] [--fault NAME[,NAME…]|all|replication]',
    '',
    'Injects faults into a control plane under mixed load, and checks that the operations on each object are linearizable and',
    'that watches are complete and in order. Several faults take turns at random; "all" are those that the backend can have.',
    '',
    '  --minutes N   how long; default 10',
    '  --kills N     how many faults, instead of a time',
    '  --backend B   default file, or etcd for its faults; memory loses everything: it shows that a loss is found',
    '  --fault F     default kill',
    '',
    'Faults of one process and of etcd:',
    ...lines(faults),
    '',
    'Faults of replication, in a sharded control plane: once writes rest, the cache must hold the union of the shards.',
    '"replication" are all of them.',
    ...lines(replicationFaults),
    '',
    'Exit codes: 0 no problem; 1 a problem was found, its history is printed; 2 wrong usage.',
    '',
  ].join('\n');
}

function fail(text: string): never {
  process.stderr.write(`${text}\nsee hack/faults --help\n`);
  process.exit(2);
}

const pick = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] as T;

/** Problems of faults between shards and cache server. */
async function runReplication(names: readonly string[], until: () => boolean): Promise<string[]> {
  await using cluster = await ShardedCluster.start();
  using replicas = await Replicas.open(cluster);
  for (let done = 0; !until();) {
    const name = pick(names);
    replicas.writing.start();
    await replicas.writing.some(20);
    try {
      await replicationFaults[name]?.inject(cluster, replicas);
      await replicas.writing.some(20);
      await replicas.writing.stop();
      const objects = await replicas.sameAsShards();
      report(
        `${++done} faults, ${name}: ${replicas.writing.writes} writes, ${objects} objects in the cache, 0 problems`,
      );
    } catch (error) {
      await replicas.writing.stop();
      return [`${name}: ${String(error)}`];
    }
  }
  return [];
}

/** Problems of faults of one process. */
async function runProcess(
  backend: string,
  names: readonly string[],
  limits: { readonly kills: number; readonly untilMs: number },
): Promise<readonly string[]> {
  const target = await startTarget(backend, names);
  try {
    const fault = async (): Promise<void> => {
      const name = pick(names);
      if (names.length > 1) report(`  ${name}`);
      await faults[name]?.inject(target);
    };
    return (await runKills(target.cluster, { ...limits, fault, report })).problems;
  } finally {
    await target.stop();
  }
}

async function main(): Promise<readonly string[]> {
  const { minutes = values.kills === undefined ? '10' : undefined } = values;
  if ((minutes !== undefined && !isMinutes(minutes)) || (values.kills !== undefined && !isMinutes(values.kills)))
    fail('--minutes and --kills are positive numbers');
  const untilMs = minutes === undefined ? Infinity : performance.now() + Number(minutes) * 60_000;
  const kills = values.kills === undefined ? Infinity : Number(values.kills);
  const wanted = values.fault.split(',');
  const backend = values.backend ?? (wanted.some((name) => faults[name]?.needs === 'etcd') ? 'etcd' : 'file');
  if (!['file', 'etcd', 'memory'].includes(backend)) fail(`--backend: ${backend} is none of file, etcd and memory`);
  if (wanted.every((name) => name === 'replication' || name in replicationFaults)) {
    let injected = 0;
    const names = wanted.includes('replication') ? Object.keys(replicationFaults) : wanted;
    return await runReplication(names, () => injected++ >= kills || performance.now() >= untilMs);
  }
  const possible = possibleFaults(backend);
  const names = wanted.includes('all') ? possible : wanted;
  for (const name of names)
    if (!possible.includes(name))
      fail(
        name in faults
          ? `--fault: ${name} is not possible with --backend ${backend} and this user`
          : `--fault: there is no ${name}, or not together with the others`,
      );
  return await runProcess(backend, names, { kills, untilMs });
}

if (values.help) {
  process.stdout.write(help());
} else {
  const problems = await main();
  for (const problem of problems) report(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
