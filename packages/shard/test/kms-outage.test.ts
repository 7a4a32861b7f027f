import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { eventually, KmsPlugin, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const secrets = { group: '', version: 'v1', resource: 'secrets' };

test('a shard that starts without its KMS plugin waits for it, and has all Secrets then', async () => {
  await using directory = await TempDir.create('kms-outage');
  const socket = directory.join('kms.sock');
  const configuration = directory.join('encryption.json');
  writeFileSync(
    configuration,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [
        {
          resources: ['secrets'],
          providers: [{ kms: { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}` } }],
        },
      ],
    }),
    { mode: 0o600 },
  );
  const flags = [`--encryption-provider-config=${configuration}`];
  const root = { cluster: 'root' as LogicalClusterName, namespace: 'default', name: 'a' };
  const start = (): Promise<InProcessShard> => InProcessShard.start(flags, directory);

  const plugin = new KmsPlugin();
  await plugin.listen(socket);
  const first = await start();
  await first.client.create(secrets, root.cluster, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a', namespace: 'default' },
    stringData: { password: 'correct-horse' },
  });
  await first.stop();

  plugin.fails = true;
  plugin.calls.length = 0;
  const starting = start();
  // The watch cache has loaded Secrets that it cannot read.
  await eventually(() => expect(plugin.calls).toContain('Decrypt'));
  plugin.fails = false;
  const second = await starting;
  expect(await second.client.get(secrets, root)).toMatchObject({
    data: { password: Buffer.from('correct-horse').toString('base64') },
  });
  await second.stop();
  plugin.close();
}, 60_000);
