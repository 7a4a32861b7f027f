import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const logicalClusters: GroupVersionResource = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
};
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const root = 'root' as LogicalClusterName;

/** The events of a watch so far, and whether it has ended. */
class Watch {
  text = '';
  hasEnded = false;
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8').on('data', (text: string) => (this.text += text));
    response.once('close', () => (this.hasEnded = true));
    // A reset connection counts as ended, too.
    response.on('error', () => undefined);
  }

  static async open(shard: InProcessShard, path: string): Promise<Watch> {
    const response = await shard.transport.open({ method: 'GET', path: `${path}?watch=true`, longRunning: true });
    if (response.statusCode !== 200) throw new Error(`the watch was answered with ${response.statusCode}`);
    return new Watch(response);
  }

  end(): void {
    this.#response.destroy();
  }
}

describe('a logical cluster', () => {
  let shard: InProcessShard;
  let tenants: readonly [LogicalClusterName, LogicalClusterName];
  beforeAll(async () => {
    shard = await InProcessShard.start();
    tenants = [await workspace('closed'), await workspace('open')];
  }, 120_000);
  afterAll(() => shard[Symbol.asyncDispose]());

  async function workspace(name: string): Promise<LogicalClusterName> {
    const kind = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace' };
    await shard.client.create(workspaces, root, { ...kind, metadata: { name } });
    return eventually(async () => {
      const { spec, status } = (await shard.client.get(workspaces, {
        cluster: root,
        namespace: '',
        name,
      })) as KubeObject & {
        spec: { cluster: LogicalClusterName };
        status: { phase: string };
      };
      expect(status.phase).toBe('Ready');
      return spec.cluster;
    });
  }
  const configMap = (cluster: LogicalClusterName, name: string): Promise<KubeObject> =>
    shard.client.create(configMaps, cluster, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
    });
  const mark = (cluster: LogicalClusterName, inactive: string | null): Promise<KubeObject> =>
    shard.client.patch(logicalClusters, { cluster, namespace: '', name: 'cluster' }, 'application/merge-patch+json', {
      metadata: { annotations: { 'internal.kcp.io/inactive': inactive } },
    });

  test('that is marked inactive rejects requests and ends its own and wildcard watches, until the mark is removed', async () => {
    const [closed, open] = tenants;
    const inside = await Watch.open(shard, `/clusters/${closed}/api/v1/configmaps`);
    const byPath = await Watch.open(shard, '/clusters/root:closed/api/v1/secrets');
    const beside = await Watch.open(shard, `/clusters/${open}/api/v1/configmaps`);
    const everywhere = await Watch.open(shard, '/clusters/*/api/v1/configmaps');
    await mark(closed, 'true');
    await eventually(() => expect([inside.hasEnded, byPath.hasEnded, everywhere.hasEnded]).toEqual([true, true, true]));

    for (const attempt of [
      configMap(closed, 'late'),
      shard.client.get(configMaps, { cluster: closed, namespace: 'default', name: 'kube-root-ca.crt' }),
      shard.client.delete(configMaps, { cluster: closed, namespace: 'default', name: 'kube-root-ca.crt' }),
    ])
      await expect(attempt).rejects.toThrow('logical cluster is marked inactive');

    // Wildcard watches may be opened again.
    const again = await Watch.open(shard, '/clusters/*/api/v1/configmaps');
    await configMap(open, 'meanwhile');
    await eventually(() =>
      expect([beside, again].map(({ text }) => text.includes('"meanwhile"'))).toEqual([true, true]),
    );
    expect([beside.hasEnded, again.hasEnded]).toEqual([false, false]);

    await mark(closed, null);
    await eventually(() => configMap(closed, 'again'));
    await eventually(() => expect(again.text).toContain('"again"'));
    for (const watch of [beside, again]) watch.end();
  });

  test('that is deleted ends only its own watches', async () => {
    const going = await workspace('going');
    const inside = await Watch.open(shard, `/clusters/${going}/api/v1/configmaps`);
    const byPath = await Watch.open(shard, '/clusters/root:going/api/v1/secrets');
    const everywhere = await Watch.open(shard, '/clusters/*/api/v1/configmaps');
    await configMap(going, 'last');
    await shard.client.delete(workspaces, { cluster: root, namespace: '', name: 'going' });
    await eventually(() => expect([inside.hasEnded, byPath.hasEnded]).toEqual([true, true]));
    await configMap(tenants[1], 'afterwards');
    await eventually(() => expect(everywhere.text).toContain('"afterwards"'));
    expect(everywhere.hasEnded).toBe(false);
    everywhere.end();
  });
});
