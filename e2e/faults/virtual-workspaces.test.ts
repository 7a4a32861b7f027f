import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { eventually, freezeProcess } from '@multiplane/testing';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const tenancy = '/clusters/root/apis/tenancy.kcp.io/v1alpha1';
const logicalClusters = 'apis/core.kcp.io/v1alpha1/logicalclusters';
const patient = { timeout: 60_000 };

/** A shard whose virtual workspaces are a process of their own, which is stopped and killed. */
describe('virtual workspaces that freeze or die', () => {
  let cluster: ShardedCluster;
  let admin: RestTransport;
  let requests: Requests;
  /** Of a workspace that waits for the controller of its type. */
  let waiting: string;
  let path: string;

  beforeAll(async () => {
    cluster = await ShardedCluster.start({ shards: ['root'] });
    admin = cluster.transport('root');
    requests = new Requests(cluster.rootShard);
    await requests.must({
      method: 'POST',
      path: `${tenancy}/workspacetypes`,
      body: {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'WorkspaceType',
        metadata: { name: 'slow' },
        spec: { initializer: true },
      },
    });
    await eventually(
      () =>
        requests.must({
          method: 'POST',
          path: `${tenancy}/workspaces`,
          body: {
            apiVersion: 'tenancy.kcp.io/v1alpha1',
            kind: 'Workspace',
            metadata: { name: 'waiting' },
            spec: { type: { name: 'slow', path: 'root' } },
          },
        }),
      patient,
    );
    waiting = await eventually(async () => {
      const { json } = await requests.must({ path: `${tenancy}/workspaces/waiting` });
      if (JSON.stringify(field(json as Json, 'status', 'initializers')) !== '["root:slow"]')
        throw new Error(`it does not wait yet: ${JSON.stringify(json)}`);
      return field(json as Json, 'spec', 'cluster') as string;
    }, patient);
    path = `/services/initializingworkspaces/root:slow/clusters/*/${logicalClusters}`;
  }, 180_000);
  afterAll(async () => {
    requests?.[Symbol.dispose]();
    admin?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** What the shard passes on to them. */
  const status = async (): Promise<number> => (await requests.send({ path })).status;
  const works = (): Promise<void> =>
    eventually(async () => {
      const { text } = await requests.must({ path });
      expect(text).toContain(waiting);
    }, patient);

  test('block no request while they are frozen, and recover afterwards', async () => {
    await works();
    const { pid } = cluster.process('virtual-workspaces-root');
    await freezeProcess(pid as number);
    try {
      await eventually(async () => expect([503, 504]).toContain(await status()), patient);
      await createWorkspace(admin, 'root', 'not-frozen');
    } finally {
      process.kill(pid as number, 'SIGCONT');
    }
    await works();
  });

  test('fail their own requests immediately and no others', async () => {
    await works();
    await cluster.process('virtual-workspaces-root').kill();
    await eventually(async () => expect(await status()).toBe(503), patient);
    await createWorkspace(admin, 'root', 'untouched');
  });

  test('serve again as soon as they are back, and know what happened meanwhile', async () => {
    await cluster.process('virtual-workspaces-root').start();
    await works();
    await requests.must({
      method: 'PATCH',
      path: `/services/initializingworkspaces/root:slow/clusters/${waiting}/${logicalClusters}/cluster/status`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { status: { initializers: [] } },
    });
    await eventually(async () => {
      const { json } = await requests.must({ path: `${tenancy}/workspaces/waiting` });
      expect(field(json as Json, 'status', 'phase')).toBe('Ready');
    }, patient);
  });
});
