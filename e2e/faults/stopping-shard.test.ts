import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * A shard that gets SIGTERM under writes: each write is either acknowledged and stored,
 * or was not done, and its client gets an answer that allows a retry.
 */

const path = '/clusters/root:busy/api/v1/namespaces/default/configmaps';
const writers = 8;

let cluster: ShardedCluster;
let requests: Requests;

beforeAll(async () => {
  cluster = await ShardedCluster.start();
  const admin = cluster.transport('root');
  await createWorkspace(admin, 'root', 'busy', { shard: 'shard-1' });
  admin.close();
  requests = new Requests(cluster);
  await eventually(() => requests.must({ path }), { timeout: 30_000 });
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

interface Attempt {
  readonly name: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Writes without a pause until stopped. */
function writing(prefix: string): { readonly attempts: Attempt[]; stop(): Promise<void> } {
  const attempts: Attempt[] = [];
  const over = new AbortController();
  const one = async (writer: number): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      const name = `${prefix}-${writer}-${count}`;
      const { status, headers } = await requests.send({
        method: 'POST',
        path,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
      });
      attempts.push({ name, status, retryAfter: headers['retry-after'] });
    }
  };
  const running = Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
  return {
    attempts,
    stop: async () => {
      over.abort();
      await running;
    },
  };
}

test.each([1, 2, 3])(
  'every write is done or may be tried again, stop %d',
  async (round) => {
    const load = writing(`round${round}`);
    await eventually(() => expect(load.attempts.length).toBeGreaterThan(100), { timeout: 30_000 });
    await cluster.process('shard-shard-1').stop(30_000);
    await eventually(() => expect(load.attempts.at(-1)?.status).toBe(503), { timeout: 30_000 });
    await load.stop();
    await cluster.process('shard-shard-1').start();
    const stored = await eventually(async () => (await requests.must({ path })).json['items'] as KubeObject[], {
      timeout: 60_000,
    });

    const refused = load.attempts.filter(({ status }) => status !== 201);
    expect(
      refused.filter(({ status, retryAfter }) => ![429, 503].includes(status) || retryAfter === undefined),
    ).toEqual([]);
    const names = new Set(stored.map(({ metadata }) => metadata.name));
    expect(load.attempts.filter(({ name, status }) => names.has(name) !== (status === 201))).toEqual([]);
  },
  180_000,
);
