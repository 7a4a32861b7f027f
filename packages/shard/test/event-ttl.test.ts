import { expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const events: GroupVersionResource = { group: '', version: 'v1', resource: 'events' };
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const of = (kind: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'default' },
});
const at = (name: string) => ({ cluster: root, namespace: 'default', name });

test('expired events are deleted with watch events; other objects stay', async () => {
  await using shard = await InProcessShard.start(['--storage-backend=memory', '--event-ttl=2s']);
  const watch = await shard.transport.open({
    method: 'GET',
    path: '/clusters/root/api/v1/namespaces/default/events?watch=true',
    longRunning: true,
  });
  let received = '';
  watch.setEncoding('utf8').on('data', (text: string) => (received += text));
  await eventually(() => shard.client.create(configMaps, root, of('ConfigMap', 'stays')));
  await shard.client.create(events, root, {
    ...of('Event', 'passes'),
    involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'stays' },
    reason: 'Seen',
  });
  await eventually(() => expect(shard.client.get(events, at('passes'))).rejects.toThrow('not found'));
  await eventually(() => expect(received).toMatch(/"type":"ADDED".*"passes"[^]*"type":"DELETED".*"passes"/));
  expect((await shard.client.get(configMaps, at('stays'))).metadata.name).toBe('stays');
  watch.destroy();
}, 60_000);
