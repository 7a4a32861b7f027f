import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EtcdServer } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import { openEtcdStorage } from '../etcd/open-etcd-storage.ts';
import type { Storage } from '../interface.ts';
import { EncryptedStorage } from './encrypted-storage.ts';
import { parseEncryptionConfiguration, type ResourceTransformers } from './encryption-configuration.ts';

let server: EtcdServer;
let stores = 0;
beforeAll(async () => {
  server = await EtcdServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const aesgcm = (...names: readonly string[]): ResourceTransformers =>
  parseEncryptionConfiguration(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [
        {
          resources: ['*.*'],
          providers: [
            {
              aesgcm: {
                keys: names.map((name) => ({
                  name,
                  secret: Buffer.alloc(32, name.charCodeAt(0)).toString('base64'),
                })),
              },
            },
          ],
        },
      ],
    }),
    'file.yaml',
    {
      kms: () => {
        throw new Error('no kms here');
      },
    },
  );

storageConformance(
  'etcd, encrypted',
  async () =>
    new EncryptedStorage({
      storage: await openEtcdStorage({ endpoints: [server.endpoint], prefix: `/store-${stores++}` }),
      transformers: { current: aesgcm('a') },
      onFailure: () => undefined,
    }),
  { modelRuns: 10 },
);
/** Two replicas of a shard on one etcd; a reload reaches one of them before the other. */
describe('a rotation on etcd', () => {
  const key = '/registry/core/secrets/root/default/a';
  const text = async (store: Storage): Promise<string | undefined> => (await store.get(key))?.value.toString();

  test('both replicas read and write at each step of it, and no value of the old key is left at its end', async () => {
    const prefix = `/store-${stores++}`;
    const open = (): Promise<Storage> => openEtcdStorage({ endpoints: [server.endpoint], prefix });
    const raw = await open();
    const failures: string[] = [];
    const replicas = await Promise.all(
      [0, 1].map(async () => {
        const transformers = { current: aesgcm('a') };
        const onFailure = (at: string): number => failures.push(at);
        return { transformers, store: new EncryptedStorage({ storage: await open(), transformers, onFailure }) };
      }),
    );
    let revision = await (replicas[0] as (typeof replicas)[0]).store.create(key, Buffer.from('0'));
    let writes = 0;
    const writtenWith = async (): Promise<string | undefined> =>
      (await raw.get(key))?.value.toString('latin1').split(':')[4];
    const used: (string | undefined)[] = [];
    // The new key behind the old one, then first, then alone: on one replica after the other.
    for (const keys of [['a', 'b'], ['b', 'a'], ['b']]) {
      for (const { transformers } of replicas) {
        transformers.current = aesgcm(...keys);
        for (const writer of replicas) {
          revision = await writer.store.update(key, Buffer.from(String(++writes)), revision);
          used.push(await writtenWith());
          expect(await Promise.all(replicas.map(({ store }) => text(store)))).toEqual([String(writes), String(writes)]);
        }
      }
    }
    expect(used).toEqual(['a', 'a', 'a', 'a', 'b', 'a', 'b', 'b', 'b', 'b', 'b', 'b']);
    expect(failures).toEqual([]);
    await Promise.all([raw.close(), ...replicas.map(({ store }) => store.close())]);
  });
});
