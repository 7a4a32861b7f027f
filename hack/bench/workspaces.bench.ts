import type { RestTransport } from '@multiplane/client';
import type { ControlPlane } from '../../e2e/harness/control-plane.ts';
import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
import { atRate, readyWorkspaces } from './load.ts';
import { measureOverShards } from './over-shards.ts';
import { measureParts } from './parts.ts';
import { processorSeconds, type Running } from './processor-time.ts';
import { ReadyTimes } from './ready-times.ts';
import { report } from './report.ts';

/*
 * How fast workspaces become ready, in one process and over shards of a sharded control plane (issues 4 and 5, speed). Every
 * process and the client share the processors of this machine.
 */
const workspaces = 600;
/** A server that has made as many as this runs compiled code: what it does from then on it does for days. */
const warmUp = 300;
const clients = 16;
/** So many a second, for so many seconds, are timed one by one. */
const pace = 50;
const seconds = 8;

console.log('\nWorkspaces');
const parts: Record<string, () => Promise<void>> = {
  'one-process': measureOneProcess,
  'over-shards': measureOverShards,
};
await measureParts(parts);

async function measureOneProcess(): Promise<void> {
  const server = await LocalCluster.start();
  const [flat, times] = await on(server, async (transport) => [
    await rate(transport, server.process),
    await readyTimes(transport),
  ]);
  report({
    name: 'workspaces to Ready, flat, one process',
    value: flat.perSecond,
    unit: '/s',
    target: { atLeast: 200 },
    note: `${workspaces} of type universal, ${clients} clients; ${flat.milliseconds.toFixed(1)} ms of the server's processor time each, all threads`,
  });
  report({
    name: `workspace asked for to Ready, ${pace} a second, p99`,
    value: at(times, 0.99),
    unit: 'ms',
    target: { atMost: 250 },
    note: `p50 ${at(times, 0.5).toFixed(0)} ms; ${times.length} of type universal, seen by a watch`,
  });
}

async function on<T>(cluster: ControlPlane, measure: (transport: RestTransport) => Promise<T>): Promise<T> {
  const transport = cluster.transport('root');
  try {
    return await measure(transport);
  } finally {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  }
}

/** Workspaces that become ready in a second, from the first create to the last of them, and what each costs the server. */
async function rate(
  transport: RestTransport,
  running: Running,
): Promise<{ readonly perSecond: number; readonly milliseconds: number }> {
  await readyWorkspaces(transport, 'root', { count: warmUp, clients, prefix: 'warm' });
  const before = processorSeconds(running);
  const began = performance.now();
  await readyWorkspaces(transport, 'root', { count: workspaces, clients, prefix: 'flat' });
  return {
    perSecond: workspaces / ((performance.now() - began) / 1000),
    milliseconds: ((processorSeconds(running) - before) * 1000) / workspaces,
  };
}

/** Milliseconds from each request to Ready, in order; each is begun at its time whatever became of those before. */
async function readyTimes(transport: RestTransport): Promise<readonly number[]> {
  const times = new ReadyTimes(transport, 'paced');
  await times.open();
  await atRate(pace * seconds, pace, (index) => times.make(index));
  await times.all(pace * seconds);
  times.close();
  return times.milliseconds.toSorted((a, b) => a - b);
}

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
