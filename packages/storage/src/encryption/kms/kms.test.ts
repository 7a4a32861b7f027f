// oxlint-disable tests/no-real-time-with-fake-clock -- the KMS plugin answers over a socket
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually, FakeClock, KmsPlugin, TempDir } from '@multiplane/testing';
import { MemoryStorage } from '../../memory/memory-storage.ts';
import { EncryptedStorage } from '../encrypted-storage.ts';
import { parseEncryptionConfiguration, type ResourceTransformers } from '../encryption-configuration.ts';
import { KmsProviders } from './kms-providers.ts';

const secret = '/registry/core/secrets/root/default/a';
const value = Buffer.from('{"kind":"Secret"}');
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => quiet } as never;

let folder: TempDir;
let plugin: KmsPlugin;
let clock: FakeClock;
let stop: AbortController;
beforeEach(async () => {
  folder = await TempDir.create('kms');
  plugin = new KmsPlugin();
  await plugin.listen(folder.join('kms.sock'));
  clock = new FakeClock();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  plugin.close();
  await folder.remove();
});

const providers = (): KmsProviders => new KmsProviders({ clock, logger: quiet, signal: stop.signal });
const configure = (kms: KmsProviders, socket = 'kms.sock', mustRespond = true): Promise<ResourceTransformers> =>
  kms.replace(
    (connect) =>
      parseEncryptionConfiguration(
        JSON.stringify({
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'EncryptionConfiguration',
          resources: [
            {
              resources: ['secrets'],
              providers: [
                { kms: { apiVersion: 'v2', name: 'hsm', endpoint: `unix://${folder.join(socket)}`, timeout: '2s' } },
                { identity: {} },
              ],
            },
          ],
        }),
        'file.yaml',
        { kms: connect },
      ),
    { mustRespond },
  );
const storeOf = (storage: MemoryStorage, current: ResourceTransformers): EncryptedStorage =>
  new EncryptedStorage({ storage, transformers: { current }, onFailure: () => undefined });

test('writes call the plugin once, reads of another process once per seed', async () => {
  const raw = new MemoryStorage();
  const kms = providers();
  const store = storeOf(raw, await configure(kms));
  await kms.check();
  for (let i = 0; i < 20; i++) await store.create(`${secret}${i}`, value);
  expect(plugin.calls).toEqual(['Status', 'Encrypt']);
  const stored = (await raw.get(`${secret}3`))?.value as Buffer;
  expect(stored.toString('latin1').startsWith('k8s:enc:kms:v2:hsm:')).toBe(true);
  expect(stored.includes('Secret')).toBe(false);
  const second = storeOf(raw, await configure(providers()));
  const { items } = await second.list('/registry/');
  expect(new Set(items.map((item) => item.value.toString()))).toEqual(new Set([value.toString()]));
  expect(plugin.calls.filter((name) => name === 'Decrypt')).toHaveLength(1);
  await raw.close();
});

test('a new key of the plugin makes values stale, and the next seed uses it', async () => {
  const raw = new MemoryStorage();
  const kms = providers();
  const store = storeOf(raw, await configure(kms));
  const revision = await store.create(secret, value);
  expect(await store.isStale(secret)).toBe(false);
  plugin.keyId = '2';
  await clock.advance(60_000);
  await eventually(async () => expect(await store.isStale(secret)).toBe(true));
  expect((await store.get(secret))?.value.toString()).toBe(value.toString());
  await store.update(secret, value, revision);
  expect(await store.isStale(secret)).toBe(false);
  await raw.close();
});

test('without the plugin reads go on, writes for three minutes, and readiness says why', async () => {
  const raw = new MemoryStorage();
  const kms = providers();
  const store = storeOf(raw, await configure(kms));
  await store.create(secret, value);
  plugin.fails = true;
  await clock.advance(60_000);
  await eventually(() => expect(kms.check()).rejects.toThrow(/KMS provider hsm: .*the HSM is away/));
  await store.create(`${secret}2`, value);
  await clock.advance(3 * 60_000);
  await expect(store.create(`${secret}3`, value)).rejects.toThrow(/the data key of KMS provider hsm has expired/);
  expect((await store.get(secret))?.value.toString()).toBe(value.toString());
  await raw.close();
});

test('a plugin that does not respond: a start goes on unready, a reload is refused', async () => {
  const kms = providers();
  await expect(configure(kms, 'nothing.sock')).rejects.toThrow(/KMS provider hsm/);
  const store = storeOf(new MemoryStorage(), await configure(kms, 'nothing.sock', false));
  await expect(kms.check()).rejects.toThrow(/KMS provider hsm/);
  await expect(store.create(secret, value)).rejects.toThrow(/has not responded yet/);
  await store.create('/registry/core/configmaps/root/default/a', value);
});

test('a plugin that a reload removed is closed after a while, or when the process stops', async () => {
  const kms = providers();
  await configure(kms);
  await configure(kms, 'nothing.sock', false);
  // That of the next probe, and that of the removal.
  expect(clock.timers).toBe(2);
  stop.abort();
  expect(clock.timers).toBe(0);
});
