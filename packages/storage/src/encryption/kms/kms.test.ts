import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually, FakeClock, TempDir } from '@multiplane/testing';
import { Server, ServerCredentials, status as grpcStatus } from '@grpc/grpc-js';
import { MemoryStorage } from '../../memory/memory-storage.ts';
import { EncryptedStorage } from '../encrypted-storage.ts';
import { parseEncryptionConfiguration, type ResourceTransformers } from '../encryption-configuration.ts';
import { KmsProviders } from './kms-providers.ts';

const field = (number: number, bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
};
/** Fields of at most 127 bytes. */
const read = (bytes: Buffer): Map<number, Buffer> => {
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at + 1] as number;
    fields.set((bytes[at] as number) >> 3, bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return fields;
};

/** A plugin that encrypts by XOR with the number of its key, and counts calls. */
class Plugin {
  keyId = '1';
  healthz = 'ok';
  fails = false;
  readonly calls: string[] = [];
  readonly #server = new Server();

  async listen(path: string): Promise<void> {
    const pass = (bytes: Buffer): Buffer => bytes;
    const method = (name: string, answer: (request: Buffer) => Buffer) => ({
      definition: {
        path: `/v2.KeyManagementService/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      },
      handle: (call: { request: Buffer }, done: (error: object | null, response?: Buffer) => void) => {
        this.calls.push(name);
        if (this.fails) done({ code: grpcStatus.UNAVAILABLE, details: 'the HSM is away' });
        else done(null, answer(call.request));
      },
    });
    const xor = (bytes: Buffer, keyId: string): Buffer => Buffer.from(bytes.map((byte) => byte ^ Number(keyId)));
    const methods = {
      Status: method('Status', () => Buffer.concat([field(1, 'v2'), field(2, this.healthz), field(3, this.keyId)])),
      Encrypt: method('Encrypt', (request) => {
        const annotation = Buffer.concat([field(1, 'plugin.example.dev'), field(2, 'local')]);
        const sealed = xor(read(request).get(1) as Buffer, this.keyId);
        return Buffer.concat([field(1, sealed), field(2, this.keyId), field(3, annotation)]);
      }),
      Decrypt: method('Decrypt', (request) => {
        const fields = read(request);
        if (fields.get(4)?.includes('local') !== true) throw new Error('the annotations are missing');
        return field(1, xor(fields.get(1) as Buffer, (fields.get(3) as Buffer).toString()));
      }),
    };
    this.#server.addService(
      Object.fromEntries(Object.entries(methods).map(([name, { definition }]) => [name, definition])),
      Object.fromEntries(Object.entries(methods).map(([name, { handle }]) => [name, handle as never])),
    );
    await new Promise<void>((resolve, reject) =>
      this.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
  }
  close(): void {
    this.#server.forceShutdown();
  }
}

const secret = '/registry/core/secrets/root/default/a';
const value = Buffer.from('{"kind":"Secret"}');
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => quiet } as never;

let folder: TempDir;
let plugin: Plugin;
let clock: FakeClock;
let stop: AbortController;
beforeEach(async () => {
  folder = await TempDir.create('kms');
  plugin = new Plugin();
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
