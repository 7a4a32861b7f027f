import { parseArgs } from 'node:util';
import { EtcdServer } from '@multiplane/testing';
import { LocalCluster } from '../../harness/local-cluster.ts';
import { crash, freeze } from './process-faults.ts';
import { runKills } from './run-kills.ts';

/** `hack/faults`: kills a control plane for some minutes and checks the history of its clients. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    kills: { type: 'string' },
    backend: { type: 'string', default: 'file' },
    fault: { type: 'string', default: 'kill' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(
    'Usage: hack/faults [--minutes N] [--kills N] [--backend file|etcd|memory] [--fault kill|freeze|etcd-kill|etcd-freeze]\n' +
      'Kills a control plane with kill -9 under mixed load, or its etcd, or freezes one of them for two seconds (SIGSTOP), and\n' +
      'checks that the operations on each object are linearizable\n' +
      'and that watches are complete and in order. Exit code 1 and the history if not. The backend memory loses everything:\n' +
      'it shows that a loss is found.\n',
  );
  process.exit(0);
}
const report = (text: string): void => void process.stdout.write(`${text}\n`);
const etcd = values.backend === 'etcd' || values.fault.startsWith('etcd-') ? await EtcdServer.start() : undefined;
const flags = etcd === undefined ? [`--storage-backend=${values.backend}`] : ['--etcd-servers', etcd.endpoint];
// A crowded machine is not a fault: a start may take its time.
const cluster = await LocalCluster.start({ flags, startTimeout: 300_000 });
const { minutes = values.kills === undefined ? '10' : 'Infinity' } = values;
const untilMs = performance.now() + Number(minutes) * 60_000;
const victim = values.fault.startsWith('etcd-') && etcd !== undefined ? etcd.process : cluster.process;
const fault = values.fault.endsWith('freeze') ? freeze(victim) : crash(victim);
const result = await runKills(cluster, {
  fault,
  kills: values.kills === undefined ? Infinity : Number(values.kills),
  untilMs,
  report,
});
await cluster[Symbol.asyncDispose]();
await etcd?.[Symbol.asyncDispose]();
for (const problem of result.problems) report(problem);
process.exitCode = result.problems.length === 0 ? 0 : 1;
