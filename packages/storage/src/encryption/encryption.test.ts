import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, systemClock } from '@multiplane/component-base';
import { eventually, TempDir } from '@multiplane/testing';
import { storageConformance } from '../../test/conformance/index.ts';
import { openWatchCache } from '../cacher/open-watch-cache.ts';
import { openFileStorage } from '../file/open-file-storage.ts';
import type { Storage } from '../interface.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { ExtendedNonceGcmTransformer } from './aes-transformers.ts';
import { EncryptedStorage } from './encrypted-storage.ts';
import { parseEncryptionConfiguration, type ResourceTransformers } from './encryption-configuration.ts';

const key = (name: string, byte: number, bytes = 32): object => ({
  name,
  secret: Buffer.alloc(bytes, byte).toString('base64'),
});
const parse = (resources: readonly object[]): ResourceTransformers =>
  parseEncryptionConfiguration(
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }),
    'file.yaml',
    {
      kms: () => {
        throw new Error('no kms here');
      },
    },
  );
const all = (...providers: readonly object[]): ResourceTransformers => parse([{ resources: ['*.*'], providers }]);
const encrypted = (storage: Storage, current: ResourceTransformers): EncryptedStorage =>
  new EncryptedStorage({ storage, transformers: { current }, onFailure: () => undefined });

const secret = '/registry/core/secrets/root/default/a';
const value = Buffer.from('{"kind":"Secret"}');

storageConformance(
  'memory, encrypted',
  async () => encrypted(new MemoryStorage(), all({ secretbox: { keys: [key('a', 1)] } })),
  {
    modelRuns: 15,
  },
);
storageConformance(
  'file, encrypted',
  async () => {
    const tempDir = await TempDir.create('encrypted-storage');
    const store = encrypted(
      await openFileStorage({ directory: tempDir.path }),
      all({ aesgcm: { keys: [key('a', 1)] } }, { identity: {} }),
    );
    const close = store.close.bind(store);
    store.close = async () => {
      await close();
      await tempDir.remove();
    };
    return store;
  },
  { modelRuns: 15 },
);

describe.each([
  ['aesgcm', 16],
  ['aesgcm', 24],
  ['aesgcm', 32],
  ['aescbc', 16],
  ['aescbc', 32],
  ['secretbox', 32],
])('%s with a key of %i bytes', (provider, bytes) => {
  const one = { [provider]: { keys: [key('one', 1, bytes)] } };
  const two = { [provider]: { keys: [key('two', 2, bytes), key('one', 1, bytes)] } };

  test('stores the prefix of kube-apiserver and no plain text', async () => {
    const raw = new MemoryStorage();
    const store = encrypted(raw, all(one));
    await store.create(secret, value);
    const stored = (await raw.get(secret))?.value as Buffer;
    expect(stored.toString('latin1').startsWith(`k8s:enc:${provider}:v1:one:`)).toBe(true);
    expect(stored.includes('Secret')).toBe(false);
    expect((await store.get(secret))?.value.toString()).toBe(value.toString());
    await raw.close();
  });

  test('rotates: all keys read, the first one writes, what the others wrote is stale', async () => {
    const raw = new MemoryStorage();
    let current = all(one);
    const store = new EncryptedStorage({
      storage: raw,
      transformers: {
        get current() {
          return current;
        },
      },
      onFailure: () => undefined,
    });
    const revision = await store.create(secret, value);
    expect(await store.isStale(secret)).toBe(false);
    current = all(two);
    expect((await store.get(secret))?.value.toString()).toBe(value.toString());
    expect(await store.isStale(secret)).toBe(true);
    await store.update(secret, value, revision);
    expect(await store.isStale(secret)).toBe(false);
    expect((await raw.get(secret))?.value.toString('latin1')).toContain(':two:');
    // Encryption is switched off the same way.
    current = all({ identity: {} }, two);
    expect(await store.isStale(secret)).toBe(true);
    await raw.close();
  });

  test('a missing key is an error of this value only', async () => {
    const raw = new MemoryStorage();
    await encrypted(raw, all(one)).create(secret, value);
    const failures: string[] = [];
    const store = new EncryptedStorage({
      storage: raw,
      transformers: { current: all({ [provider]: { keys: [key('three', 3, bytes)] } }, { identity: {} }) },
      onFailure: (at) => failures.push(at),
    });
    await store.create('/registry/core/configmaps/root/default/b', Buffer.from('{}'));
    await expect(store.get(secret)).rejects.toThrow(`unable to transform key "${secret}"`);
    const { items } = await store.list('/registry/');
    expect(items.map((item) => item.value.toString('latin1', 0, 8))).toEqual(['{}', 'k8s:enc:']);
    expect(failures).toEqual([secret, secret]);
    await raw.close();
  });
});

describe('a watch cache with a value that cannot be decrypted', () => {
  const one = { secretbox: { keys: [key('one', 1)] } };
  const two = { secretbox: { keys: [key('two', 2)] } };

  test('loads again when its key is there again, and not before', async () => {
    const raw = new MemoryStorage();
    await encrypted(raw, all(one)).create(secret, value);
    let current = all(two);
    const store = new EncryptedStorage({
      storage: raw,
      transformers: {
        get current() {
          return current;
        },
      },
      onFailure: () => undefined,
    });
    const cache = openWatchCache({}, { storage: store, clock: systemClock, onError: () => undefined });
    await cache.ready;
    const ends: unknown[] = [];
    cache.subscribe({
      scope: '/registry/',
      after: cache.revision,
      onEvent: () => undefined,
      onEnd: () => ends.push(1),
    });
    const cached = (): string | undefined => cache.peek(secret)?.value.toString('latin1', 0, 8);
    expect(await store.retryUndecryptable()).toBe('unreadable');
    expect([cached(), ends]).toEqual(['k8s:enc:', []]);
    current = all(two, one);
    expect(await store.retryUndecryptable()).toBe('readable');
    await eventually(() => expect(cached()).toBe('{"kind":'));
    expect(ends).toHaveLength(1);
    expect(await store.retryUndecryptable()).toBe(undefined);
    await cache.close();
  });
});

test('aesgcm binds a value to its key: a copy at another key does not decrypt', async () => {
  const raw = new MemoryStorage();
  const store = encrypted(raw, all({ aesgcm: { keys: [key('a', 1)] } }));
  await store.create(secret, value);
  const stored = (await raw.get(secret))?.value as Buffer;
  const other = '/registry/core/secrets/other/default/a';
  await raw.create(other, stored);
  await expect(store.get(other)).rejects.toThrow('unable to transform key');
  await raw.close();
});

// Made with tweetnacl, so that the format is not only our own.
test.each([['secretbox', 7, 'CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJWIx4IJV5/mTHC/8b7FZ7vfdoeJ9RNRDWJid3i9hRwXAd']])(
  'reads what another implementation of %s wrote',
  async (provider, byte, base64) => {
    const raw = new MemoryStorage();
    await raw.create(secret, Buffer.concat([Buffer.from(`k8s:enc:${provider}:v1:a:`), Buffer.from(base64, 'base64')]));
    const store = encrypted(raw, all({ [provider]: { keys: [key('a', byte)] } }));
    expect((await store.get(secret))?.value.toString()).toBe(value.toString());
    await raw.close();
  },
);

test('derived keys differ per value, and the seed decrypts all of them', () => {
  const transformer = new ExtendedNonceGcmTransformer(Buffer.alloc(32, 5));
  const stored = [1, 2].map(() => transformer.encrypt(value, secret));
  expect(stored[0]?.equals(stored[1] as Buffer)).toBe(false);
  for (const bytes of stored) expect(transformer.decrypt(bytes, secret).value.equals(value)).toBe(true);
  expect(() => transformer.decrypt(stored[0] as Buffer, 'elsewhere')).toThrow(/authentication failed/);
});

describe('resources', () => {
  const prefixOf = async (transformers: ResourceTransformers, at: string): Promise<string | undefined> => {
    const raw = new MemoryStorage();
    await encrypted(raw, transformers).create(at, Buffer.from('{}'));
    const stored = (await raw.get(at))?.value.toString('latin1') as string;
    await raw.close();
    return stored.startsWith('k8s:enc:') ? stored.split(':')[4] : undefined;
  };
  const provider = (name: string): object => ({ aesgcm: { keys: [key(name, 1)] } });

  test('the most specific rule counts, wildcards come after it', async () => {
    const transformers = parse([
      { resources: ['secrets', 'widgets.example.dev'], providers: [provider('exact')] },
      { resources: ['*.apps'], providers: [provider('apps')] },
      { resources: ['*.'], providers: [provider('core')] },
    ]);
    expect(await prefixOf(transformers, '/registry/core/secrets/c/default/x')).toBe('exact');
    expect(await prefixOf(transformers, '/registry/core/configmaps/c/default/x')).toBe('core');
    expect(await prefixOf(transformers, '/registry/apps/deployments/c/default/x')).toBe('apps');
    expect(await prefixOf(transformers, '/registry/example.dev/widgets/customresources/c/default/x')).toBe('exact');
    expect(await prefixOf(transformers, '/registry/example.dev/widgets/hash/c/default/x')).toBe('exact');
    expect(await prefixOf(transformers, '/registry/example.dev/gadgets/hash/c/default/x')).toBeUndefined();
    const everything = parse([
      { resources: ['secrets'], providers: [provider('exact')] },
      { resources: ['*.*'], providers: [provider('rest')] },
    ]);
    expect(await prefixOf(everything, '/registry/example.dev/gadgets/hash/c/default/x')).toBe('rest');
    expect(await prefixOf(everything, '/registry/core/secrets/c/default/x')).toBe('exact');
  });

  const aescbc = [{ aescbc: { keys: [key('a', 1)] } }];
  test.each([
    [
      [
        { resources: ['*.*'], providers: aescbc },
        { resources: ['secrets'], providers: aescbc },
      ],
      'masked by earlier rule "*.*"',
    ],
    [
      [
        { resources: ['*.'], providers: aescbc },
        { resources: ['secrets'], providers: aescbc },
      ],
      'masked by earlier rule "*."',
    ],
    [[{ resources: ['secrets', '*.'], providers: aescbc }], 'overlapping resources'],
    [[{ resources: ['secrets', 'secrets'], providers: aescbc }], 'cannot be specified multiple times'],
    [[{ resources: ['*'], providers: aescbc }], "use '*.' to encrypt all the resources from core API group"],
    [[{ resources: ['Secrets'], providers: aescbc }], 'should not contain capital letters'],
    [[{ resources: ['secrets'], providers: [] }], 'at least one providers is required'],
    [
      [{ resources: ['secrets'], providers: [{ aescbc: { keys: [key('a', 1, 15)] } }] }],
      'got 15, expected one of [16 24 32]',
    ],
    [
      [{ resources: ['secrets'], providers: [{ secretbox: { keys: [key('a', 1, 16)] } }] }],
      'got 16, expected one of [32]',
    ],
    [
      [{ resources: ['secrets'], providers: [{ aescbc: { keys: [{ name: 'a', secret: '%%%' }] } }] }],
      'must be base64 encoded',
    ],
    [[{ resources: ['secrets'], providers: [{ ...aescbc[0], identity: {} }] }], 'more than one provider'],
    [[], 'at least one resources is required'],
  ])('%j is refused: %s', (resources, why) => {
    let problem: unknown;
    try {
      parse(resources);
    } catch (error) {
      problem = error;
    }
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect((problem as Error).message).toContain(why);
    expect((problem as Error).message).not.toContain(Buffer.alloc(15, 1).toString('base64'));
  });
});
