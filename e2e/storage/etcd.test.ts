import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { EtcdServer, eventually, createWithRetry } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * The same control plane on a real etcd, alone and as two processes on one etcd.
 */

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const root = 'root' as LogicalClusterName;
const configMap = (name: string, value = 'x'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { value },
});
const at = (name: string) => ({ cluster: root, namespace: 'default', name });

let etcd: EtcdServer;
let first: LocalCluster;
let transport: RestTransport;
let client: RestClient;

beforeAll(async () => {
  etcd = await EtcdServer.start();
  first = await LocalCluster.start({ flags: ['--etcd-servers', etcd.endpoint] });
  transport = first.transport('shard-base');
  client = new RestClient({ transport });
  await createWithRetry(() => client.create(configMaps, root, configMap('first')));
}, 120_000);

afterAll(async () => {
  transport.close();
  await first[Symbol.asyncDispose]();
  await etcd[Symbol.asyncDispose]();
});

describe('a control plane on etcd', () => {
  test('serves workspaces', async () => {
    expect(await createWorkspace(transport, 'root', 'on-etcd')).toBe('root:on-etcd');
  });

  test('reads what it has just written, every time', async () => {
    for (let i = 0; i < 50; i++) {
      await client.create(configMaps, root, configMap(`own-${i}`));
      expect((await client.get(configMaps, at(`own-${i}`))).metadata.name).toBe(`own-${i}`);
    }
  });

  test('a second process on the same etcd reads what the first has acknowledged, at once and the other way round', async () => {
    await using second = await LocalCluster.start({
      flags: ['--etcd-servers', etcd.endpoint, '--run-controllers=false'],
    });
    const other = second.transport('shard-base');
    const otherClient = new RestClient({ transport: other });
    for (let i = 0; i < 20; i++) {
      await client.create(configMaps, root, configMap(`shared-${i}`));
      expect((await otherClient.get(configMaps, at(`shared-${i}`))).metadata.name).toBe(`shared-${i}`);
      await otherClient.delete(configMaps, at(`shared-${i}`));
      await expect(client.get(configMaps, at(`shared-${i}`))).rejects.toThrow('not found');
    }
    other.close();
  }, 120_000);

  test('two concurrent writers lose no update: the second gets a conflict', async () => {
    await client.create(configMaps, root, configMap('contested', '0'));
    const increment = async (): Promise<boolean> => {
      const current = await client.get(configMaps, at('contested'));
      const value = Number((current['data'] as { value: string }).value) + 1;
      try {
        await client.update(configMaps, root, { ...current, data: { value: String(value) } });
        return true;
      } catch (error) {
        if (isStatusError(error, 'Conflict')) return false;
        throw error;
      }
    };
    const results = await Promise.all(Array.from({ length: 40 }, increment));
    const { data } = await client.get(configMaps, at('contested'));
    expect((data as { value: string }).value).toBe(String(results.filter(Boolean).length));
  });

  test('without etcd it refuses writes and is not ready; with it back it goes on where it was', async () => {
    await client.create(configMaps, root, configMap('before'));
    await etcd.process.kill();
    const refused = await client.create(configMaps, root, configMap('lost')).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(isStatusError(refused) && refused.code >= 500).toBe(true);
    await eventually(async () => {
      const response = await transport.open({ method: 'GET', path: '/readyz' });
      response.resume();
      expect(response.statusCode).toBe(500);
    });
    await etcd.process.start();
    await createWithRetry(() => client.create(configMaps, root, configMap('after')), { timeout: 30_000 });
    expect((await client.get(configMaps, at('before'))).metadata.name).toBe('before');
  }, 240_000);
});
