import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { plugins } from '../harness/kubectl.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';

const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const root = 'root' as LogicalClusterName;

type Workspace = KubeObject & {
  status?: { phase?: string; conditions?: { type: string; status: string; message?: string }[] };
};

/** Two shards behind a front-proxy, of which one is killed. */
describe('a shard that dies', () => {
  let cluster: ShardedCluster;
  let transport: RestTransport;
  let client: RestClient;
  beforeAll(async () => {
    cluster = await ShardedCluster.start();
    transport = cluster.transport('root');
    client = new RestClient({ transport });
  }, 180_000);
  afterAll(async () => {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  });

  const create = (name: string, shard?: string): Promise<KubeObject> =>
    client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec: {
        type: { name: 'universal', path: 'root' },
        ...(shard === undefined ? {} : { location: { selector: { matchLabels: { name: shard } } } }),
      },
    });
  const read = (name: string): Promise<Workspace> => client.get(workspaces, { cluster: root, namespace: '', name });
  const inPhase = (name: string, phase: string): Promise<void> =>
    eventually(async () => expect((await read(name)).status?.phase).toBe(phase), { timeout: 60_000 });
  /** What `kubectl ws tree` prints about root; the plugin runs without kubectl. */
  const workspaceTree = (): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) =>
      execFile(join(plugins, 'kubectl-ws'), ['tree', '--kubeconfig', cluster.kubeconfig], (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      ),
    );
  async function answer(path: string): Promise<number | undefined> {
    const response = await transport.open({ method: 'GET', path });
    response.resume();
    return response.statusCode;
  }

  test('gets no new workspaces, and those of others go on', async () => {
    await create('there', 'shard-1');
    await inPhase('there', 'Ready');
    await eventually(async () => expect(await answer('/clusters/root:there/api')).toBe(200));
    await cluster.process('shard-shard-1').kill();

    // Until its lease is silent for long enough it is still chosen; such a workspace waits for it.
    const placed: string[] = [];
    await eventually(
      async () => {
        const name = `pinned-${placed.length}`;
        await create(name, 'shard-1');
        const { metadata, status } = await eventually(async () => {
          const workspace = await read(name);
          expect(workspace.status?.conditions ?? workspace.metadata.annotations?.['core.kcp.io/shard']).toBeDefined();
          return workspace;
        });
        placed.push(name);
        expect(metadata.annotations?.['core.kcp.io/shard']).toBeUndefined();
        expect(status?.conditions?.[0]?.message).toBe('No available shards to schedule the workspace');
      },
      { timeout: 60_000, interval: 2_000 },
    );
    const free = Array.from({ length: 8 }, (_, i) => `free-${i}`);
    for (const name of free) await create(name);
    for (const name of free) {
      await inPhase(name, 'Ready');
      expect((await read(name)).metadata.annotations?.['core.kcp.io/shard']).toBe('root');
    }
    expect(await answer('/clusters/root:there/api')).toBe(503);
    expect(await answer('/clusters/root/api')).toBe(200);
    const tree = await workspaceTree();
    expect(tree.stdout).toContain('── there [unavailable]\n');
    expect(tree.stdout).toContain('── free-7\n');
    expect(tree.stderr).toMatch(/^Error: the tree is incomplete, .*:\n {2}root:there: \S.*\n$/);
    expect(tree.code).toBe(1);

    await cluster.process('shard-shard-1').start();
    for (const name of placed) await inPhase(name, 'Ready');
    await eventually(async () => expect(await answer('/clusters/root:there/api')).toBe(200), { timeout: 30_000 });
  }, 240_000);
});
