import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { repetitions } from '@multiplane/testing';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { apiExportSubjects, Replicas, replicationFaults } from './history/replicas.ts';

/** Before and after a fault, of both writers: each name comes, changes and goes. */
const writes = repetitions(12);

/**
 * What shards share, while the processes on the way die, stand still or forget everything. `hack/faults` does the same for
 * longer.
 */
describe('replicas of two shards', () => {
  let cluster: ShardedCluster;
  let replicas: Replicas;

  beforeAll(async () => {
    cluster = await ShardedCluster.start();
    replicas = await Replicas.open(cluster);
  }, 240_000);
  // Also after a failure: the next test starts with writes at rest.
  afterEach(async () => await replicas.writing.stop());
  afterAll(async () => {
    await replicas?.writing.stop();
    replicas?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test.each([
    ['nothing happens', async (): Promise<void> => undefined] as const,
    ...Object.values(replicationFaults).map(({ description, inject }) => [description, inject] as const),
  ])(
    'the cache equals the union of the shards after this: %s',
    async (_what, inject) => {
      replicas.writing.start();
      await replicas.writing.some(writes);
      await inject(cluster, replicas);
      await replicas.writing.some(writes);
      await replicas.writing.stop();
      expect(await replicas.sameAsShards()).toBeGreaterThan(5);
    },
    240_000,
  );

  test.each([
    ['everything', undefined],
    ['the APIExports', apiExportSubjects],
  ])(
    'a purge of %s while nothing is written: the shards publish again, and a cache server that starts then has everything',
    async (_what, filter) => {
      const objects = await replicas.sameAsShards();
      await cluster.process('cache-server').kill();
      await replicas.jetStream('PURGE', filter);
      await cluster.process('cache-server').start();
      expect(await replicas.sameAsShards()).toBe(objects);
    },
    240_000,
  );
});
