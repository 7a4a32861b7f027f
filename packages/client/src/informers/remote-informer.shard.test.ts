import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger, systemClock } from '@multiplane/component-base';
import { eventually, TcpProxy } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { clientConfigOf, readKubeconfig } from '../kubeconfig.ts';
import { RestTransport } from '../rest-transport.ts';
import { RemoteInformerFactory } from './remote-informer-factory.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const root = 'root' as LogicalClusterName;
const at = (name: string) => ({ cluster: root, namespace: 'default', name });
const configMap = (name: string, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { text },
});

/** Against a real shard, over a connection that breaks repeatedly. */
describe.each([true, false])('informers of a real shard, watch list %s', (watchList) => {
  let shard: InProcessShard;
  let proxy: TcpProxy;
  let transport: RestTransport;
  let factory: RemoteInformerFactory;
  beforeAll(async () => {
    shard = await InProcessShard.start();
    const file = shard.directory.join('root', 'admin.kubeconfig');
    const config = clientConfigOf(readKubeconfig(file), file, 'shard-base');
    proxy = await TcpProxy.start(Number(new URL(config.server).port));
    transport = new RestTransport({ config: { ...config, server: `https://127.0.0.1:${proxy.port}` } });
    factory = new RemoteInformerFactory(
      { watchList, pageSize: 7, minPauseMs: 5, maxPauseMs: 50 },
      { transport, clock: systemClock, logger: silentLogger },
    );
  }, 120_000);
  afterAll(async () => {
    await factory.stop();
    transport.close();
    await proxy[Symbol.asyncDispose]();
    await shard[Symbol.asyncDispose]();
  });

  test('converge to the state of the shard, with one event per change', async () => {
    for (let i = 0; i < 30; i++) await shard.client.create(configMaps, root, configMap(`early-${i}`, '0'));
    const informer = factory.informer(configMaps);
    const events = new Map<string, string[]>();
    const record = (name: string, what: string): void => void events.set(name, [...(events.get(name) ?? []), what]);
    informer.addHandlers({
      added: (object, { name }) => record(name, `+${(object['data'] as { text?: string } | undefined)?.text}`),
      updated: (object, _old, { name }) => record(name, `${(object['data'] as { text?: string }).text}`),
      deleted: (_old, { name }) => record(name, '-'),
    });
    await factory.start();
    await factory.synced;
    for (let round = 1; round <= 5; round++) {
      for (let i = 0; i < 10; i++) {
        const current = await shard.client.get(configMaps, at(`early-${i}`));
        await shard.client.update(configMaps, root, { ...current, data: { text: String(round) } });
        if (i === 5) proxy.cut();
      }
      await shard.client.create(configMaps, root, configMap(`late-${round}`, 'x'));
      if (round > 1) await shard.client.delete(configMaps, at(`late-${round - 1}`));
    }
    const last = (await shard.client.get(configMaps, at('early-9'))).metadata.resourceVersion;
    await eventually(() => {
      expect(informer.get(at('early-9'))?.metadata.resourceVersion).toBe(last);
      expect(informer.get(at('late-5'))).toBeDefined();
      expect(informer.get(at('late-4'))).toBeUndefined();
    });
    // The history of the server was never compacted, so every change is one event, in order.
    for (let i = 0; i < 10; i++) expect(events.get(`early-${i}`)).toEqual(['+0', '1', '2', '3', '4', '5']);
    for (let i = 10; i < 30; i++) expect(events.get(`early-${i}`)).toEqual(['+0']);
    for (let round = 1; round < 5; round++) expect(events.get(`late-${round}`)).toEqual(['+x', '-']);
    expect(proxy.accepted).toBeGreaterThan(5);
    expect(informer.list({ cluster: root, namespace: 'default' }).length).toBe(
      (await shard.client.list(configMaps, { cluster: root, namespace: 'default' })).items.length,
    );
  }, 120_000);
});
