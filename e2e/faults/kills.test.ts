import { expect, test } from '@jest/globals';
import { EtcdServer, repetitions } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';
import { crash, freeze } from './history/process-faults.ts';
import { runKills } from './history/run-kills.ts';

// hack/faults and hack/soak do the same for longer.
test(
  'kill -9 under mixed load: every history is linearizable, every watch complete and in order',
  async () => {
    await using cluster = await LocalCluster.start();
    const result = await runKills(cluster, { kills: repetitions(4) });
    expect(result.problems).toEqual([]);
    expect(result.kills).toBe(repetitions(4));
    expect(result.operations).toBeGreaterThan(50);
    expect(result.events).toBeGreaterThan(20);
  },
  repetitions(300_000),
);

test(
  'etcd killed and frozen under mixed load: no write is lost, no stale state is read, no event is missed',
  async () => {
    await using etcd = await EtcdServer.start();
    await using cluster = await LocalCluster.start({ flags: ['--etcd-servers', etcd.endpoint] });
    const faults = [crash(etcd.process), freeze(etcd.process), freeze(cluster.process)];
    let next = 0;
    const fault = (): Promise<void> => (faults[next++ % faults.length] as () => Promise<void>)();
    const result = await runKills(cluster, { kills: repetitions(3), fault });
    expect(result.problems).toEqual([]);
    expect(result.operations).toBeGreaterThan(50);
  },
  repetitions(300_000),
);
