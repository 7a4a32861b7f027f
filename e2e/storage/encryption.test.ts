import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { createWithRetry, EtcdServer, eventually, TempDir } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';

const root = 'root' as LogicalClusterName;
const secrets = { group: '', version: 'v1', resource: 'secrets' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const at = (name: string) => ({ cluster: root, namespace: 'default', name });
const plain = 'correct-horse-battery-staple';
const secret = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  stringData: { password: plain },
});
const configMap = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});

const key = (name: string, byte: number): object => ({ name, secret: Buffer.alloc(32, byte).toString('base64') });
const configuration = (...providers: object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers }],
  });

/** Reads, creates and updates Secrets without a pause until stopped; collects the failures. */
function load(client: RestClient): { readonly requests: number; stop(): Promise<readonly unknown[]> } {
  const failures: unknown[] = [];
  const state = { requests: 0, stopped: false };
  const one = async (writer: number): Promise<void> => {
    for (let i = 0; !state.stopped; i++) {
      try {
        const created = await client.create(secrets, root, secret(`load-${writer}-${i}`));
        await client.update(secrets, root, { ...created, stringData: { round: '2' } });
        await client.get(secrets, at(`load-${writer}-${i}`));
        await client.list(secrets, { cluster: root, namespace: 'default' });
        state.requests += 4;
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const running = Promise.all([0, 1].map(one));
  return {
    get requests() {
      return state.requests;
    },
    stop: async () => {
      state.stopped = true;
      await running;
      return failures;
    },
  };
}

/** Secrets of one control plane at rest, through a rotation and the loss of a key. */
describe.each(['file', 'etcd'])('encryption at rest in %s', (backend) => {
  let etcd: EtcdServer | undefined;
  let folder: TempDir;
  let file: string;
  let cluster: LocalCluster;
  let transport: RestTransport;
  let client: RestClient;
  const stored = async (): Promise<string> => {
    if (etcd !== undefined) {
      const everything = Buffer.from('\0').toString('base64');
      const { kvs } = (await etcd.gateway('kv/range', { key: everything, range_end: everything })) as {
        kvs: { value: string }[];
      };
      return kvs.map(({ value }) => Buffer.from(value, 'base64').toString('latin1')).join('');
    }
    const data = cluster.path('root', 'data');
    return readdirSync(data)
      .filter((name) => /\.(log|base)$/.test(name))
      .map((name) => readFileSync(join(data, name), 'latin1'))
      .join('');
  };
  beforeAll(async () => {
    folder = await TempDir.create('encryption');
    file = folder.join('encryption.yaml');
    writeFileSync(file, configuration({ secretbox: { keys: [key('one', 1)] } }, { identity: {} }), { mode: 0o600 });
    if (backend === 'etcd') etcd = await EtcdServer.start();
    cluster = await LocalCluster.start({
      flags: [
        '--encryption-provider-config',
        file,
        '--encryption-provider-config-automatic-reload',
        ...(etcd === undefined ? [] : ['--etcd-servers', etcd.endpoint]),
      ],
    });
    transport = cluster.transport('shard-base');
    client = new RestClient({ transport });
  }, 120_000);
  afterAll(async () => {
    transport.close();
    await cluster[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
    await folder.remove();
  });

  test('a secret is plain for its readers and encrypted in the store', async () => {
    await createWithRetry(() => client.create(secrets, root, secret('a')));
    await client.create(configMaps, root, configMap('a'));
    expect(((await client.get(secrets, at('a'))) as KubeObject & { data: object }).data).toEqual({
      password: Buffer.from(plain).toString('base64'),
    });
    expect(await stored()).toContain('k8s:enc:secretbox:v1:one:');
    expect(await stored()).not.toContain(Buffer.from(plain).toString('base64'));
  });

  test('after a rotation without a restart an update without a change encrypts again, with the new key, and no request fails', async () => {
    const before = await client.get(secrets, at('a'));
    expect((await client.update(secrets, root, before)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    const during = load(client);
    writeFileSync(file, configuration({ aesgcm: { keys: [key('two', 2)] } }, { secretbox: { keys: [key('one', 1)] } }));
    await eventually(
      async () => {
        await client.update(secrets, root, await client.get(secrets, at('a')));
        expect(await stored()).toContain('k8s:enc:aesgcm:v1:two:');
      },
      { timeout: 30_000, interval: 500 },
    );
    const done = during.requests;
    await eventually(() => expect(during.requests).toBeGreaterThan(done + 20), { timeout: 30_000 });
    expect(await during.stop()).toEqual([]);
    const after = await client.get(secrets, at('a'));
    expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    expect((await client.update(secrets, root, after)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  });

  /** The connections of the previous process are of no use. */
  const restart = async (): Promise<void> => {
    transport.close();
    await cluster.process.start();
    transport = cluster.transport('shard-base');
    client = new RestClient({ transport });
  };

  test('a missing key fails what needs it, and nothing else', async () => {
    await cluster.process.stop();
    const good = readFileSync(file);
    // The Secrets of the shard itself, written before the rotation, stay readable.
    writeFileSync(file, configuration({ secretbox: { keys: [key('one', 1)] } }, { identity: {} }));
    await restart();
    const failure = async (request: Promise<unknown>): Promise<unknown> =>
      request.then(
        () => undefined,
        (error: unknown) => (isStatusError(error) ? [error.code, error.message] : error),
      );
    const cannot = [500, expect.stringMatching(/unable to transform/)];
    expect(await failure(client.get(secrets, at('a')))).toEqual(cannot);
    expect(await failure(client.list(secrets, { cluster: root, namespace: 'default' }))).toEqual(cannot);
    await client.create(configMaps, root, configMap('b'));
    expect((await client.get(configMaps, at('a'))).metadata.name).toBe('a');
    await cluster.process.stop();
    writeFileSync(file, good);
    await restart();
    expect((await client.get(secrets, at('a'))).metadata.name).toBe('a');
  }, 120_000);
});
