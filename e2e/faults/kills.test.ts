import { expect, test } from '@jest/globals';
import { LocalCluster } from '../harness/local-cluster.ts';
import { runKills } from './history/run-kills.ts';

// hack/faults does the same for longer.
test('kill -9 under mixed load: every history is linearizable, every watch complete and in order', async () => {
  await using cluster = await LocalCluster.start();
  const result = await runKills(cluster, { kills: 4 });
  expect(result.problems).toEqual([]);
  expect(result.kills).toBe(4);
  expect(result.operations).toBeGreaterThan(50);
  expect(result.events).toBeGreaterThan(20);
}, 300_000);
