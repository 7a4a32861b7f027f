import { errorText } from '@multiplane/apimachinery';
import type { LocalCluster } from '../../harness/local-cluster.ts';
import { checkHistory } from './check-linearizable.ts';
import { checkWatch } from './check-watch.ts';
import { RecordedLoad } from './load.ts';
import { crash } from './process-faults.ts';

export interface KillsOptions {
  /** Number of faults; or how long to go on. */
  readonly kills: number;
  /** Injects a fault and resolves when it is over; default: `kill -9` of the control plane, and its start. */
  readonly fault?: (() => Promise<void>) | undefined;
  readonly untilMs?: number | undefined;
  readonly clients?: number | undefined;
  readonly watches?: number | undefined;
  readonly random?: (() => number) | undefined;
  readonly report?: ((text: string) => void) | undefined;
}

export interface KillsResult {
  readonly kills: number;
  readonly operations: number;
  readonly unknown: number;
  readonly events: number;
  /** Empty when every history is linearizable and every watch is complete. */
  readonly problems: readonly string[];
}

/** Kills with one load; then its history is checked, and another one starts with other objects. */
const killsPerHistory = 10;
const minLoadMs = 300;
const spreadLoadMs = 1200;
const watchPatienceMs = 60_000;

/**
 * Injects faults into a control plane again and again under mixed load (`kill -9` by default), and checks the history of all clients: operations
 * on each object are linearizable, watches are complete and in order.
 */
export async function runKills(cluster: LocalCluster, options: KillsOptions): Promise<KillsResult> {
  const { clients = 6, watches = 2, random = Math.random, report = () => undefined, untilMs = Infinity } = options;
  const { fault = crash(cluster.process) } = options;
  const totals = { kills: 0, operations: 0, unknown: 0, events: 0 };
  const problems: string[] = [];
  const isDone = (): boolean => totals.kills >= options.kills || performance.now() >= untilMs || problems.length > 0;
  for (let history = 0; !isDone(); history++) {
    const loadOptions = { name: `${history}`, namespace: 'default', clients, watches, random };
    const load = new RecordedLoad(loadOptions, { connect: () => cluster.transport('shard-base') });
    load.start();
    for (let i = 0; i < killsPerHistory && !isDone(); i++) {
      await pause(minLoadMs + spreadLoadMs * random());
      try {
        await fault();
      } catch (error) {
        problems.push(`a fault did not end: ${errorText(error)}\n${cluster.process.output}`);
      }
      totals.kills++;
    }
    await pause(minLoadMs);
    if (!(await load.stop(watchPatienceMs))) problems.push('a watch did not receive the last write');
    problems.push(...checkHistory(load.operations));
    for (const received of load.watches) {
      problems.push(...checkWatch(received, load.operations));
      totals.events += received.length;
    }
    totals.operations += load.operations.length;
    totals.unknown += load.operations.filter(({ end }) => end === Infinity).length;
    report(
      `${totals.kills} faults, ${totals.operations} operations (${totals.unknown} with unknown outcome), ${totals.events} watch events, ${problems.length} problems`,
    );
  }
  return { ...totals, problems };
}

/**
 * Records the history of a mixed load while `during` runs, and checks it. Returns the problems, and how many operations and
 * watch events there were.
 */
export async function checkDuring(
  cluster: Pick<LocalCluster, 'transport'>,
  name: string,
  during: (load: RecordedLoad) => Promise<void>,
): Promise<Omit<KillsResult, 'kills' | 'unknown'>> {
  const options = { name, namespace: 'default', clients: 4, watches: 2, random: Math.random };
  const load = new RecordedLoad(options, { connect: () => cluster.transport('shard-base') });
  load.start();
  const problems: string[] = [];
  try {
    await during(load);
  } finally {
    if (!(await load.stop(watchPatienceMs))) problems.push('a watch did not receive the last write');
  }
  problems.push(...checkHistory(load.operations));
  for (const received of load.watches) problems.push(...checkWatch(received, load.operations));
  const events = load.watches.reduce((sum, received) => sum + received.length, 0);
  return { problems, operations: load.operations.length, events };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
