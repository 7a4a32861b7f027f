import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CertificateWatcher, silentLogger, systemClock } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { identityHeaderFilter, readMappings } from './mapping-file.ts';

let folder: string;
const file = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-mapping-'));
  const authority = await CertificateAuthority.create({ commonName: 'test' });
  const [first, second] = await Promise.all([
    authority.issueClient({ user: 'a' }),
    authority.issueClient({ user: 'b' }),
  ]);
  await writeFile(file('ca.crt'), authority.pem.certificatePem);
  await writeFile(file('a.crt'), first.certificatePem);
  await writeFile(file('a.key'), first.privateKeyPem);
  await writeFile(file('b.key'), second.privateKeyPem);
});
afterAll(() => rm(folder, { recursive: true }));

const read = (...entries: object[]) =>
  readMappings(JSON.stringify(entries), {
    watcher: new CertificateWatcher({}, { clock: systemClock, logger: silentLogger }),
  });
const entry = (rest: object = {}): object => ({
  path: '/clusters/',
  backend: 'https://localhost:6444',
  backend_server_ca: file('ca.crt'),
  proxy_client_cert: file('a.crt'),
  proxy_client_key: file('a.key'),
  ...rest,
});

test('an entry with its defaults', () => {
  const [shards, other] = read(entry(), entry({ path: '/services/', backend: 'https://vw:1/base' }));
  expect(shards).toMatchObject({ path: '/clusters', backend: undefined });
  expect(shards?.headers).toEqual({
    user: 'X-Remote-User',
    group: 'X-Remote-Group',
    uid: 'X-Remote-Uid',
    extraPrefix: 'X-Remote-Extra-',
  });
  expect(shards?.identity.current.cert).toContain('BEGIN CERTIFICATE');
  expect(other).toMatchObject({ path: '/services', backend: new URL('https://vw:1/base') });
});

test('headers of its own, which no client may send anywhere', () => {
  const own = { user_header: 'X-Who', group_header: 'X-Teams', extra_header_prefix: 'X-More-' };
  const mappings = read(entry(), entry({ path: '/other', ...own }));
  expect(mappings[1]?.headers).toMatchObject({ user: 'X-Who', group: 'X-Teams', extraPrefix: 'X-More-' });
  const filter = identityHeaderFilter(mappings, { names: ['X-Configured'], prefixes: [] });
  for (const name of [
    'x_who',
    'x-teams',
    'x-more-x',
    'x-remote-user',
    'x-remote-uid',
    'X-CONFIGURED',
    'impersonate_user',
  ])
    expect([name, filter.matches(name)]).toEqual([name, true]);
  expect(filter.matches('impersonate-user')).toBe(false);
});

describe('what makes no sense', () => {
  const failed = 'failed to create path mapping for path "/clusters/": ';
  test.each<[string, () => object[], string]>([
    ['no CA', () => [entry({ backend_server_ca: undefined })], `${failed}failed to read CA file "": `],
    ['a CA that is none', () => [entry({ backend_server_ca: file('a.key') })], `${failed}failed to read CA file `],
    ['no key', () => [entry({ proxy_client_key: undefined })], 'failed to load client certificate "'],
    ['the key of another certificate', () => [entry({ proxy_client_key: file('b.key') })], '" or key "'],
    ['no backend', () => [entry({ path: '/x', backend: '' })], 'failed to parse backend URL ""'],
    ['a backend of another kind', () => [entry({ path: '/x', backend: 'ftp://x' })], 'failed to parse backend URL'],
    ['a path without a slash', () => [entry({ path: 'x' })], 'does not begin with a slash'],
    ['a header that is none', () => [entry({ user_header: 'a b' })], 'is no header name'],
    ['the same path twice', () => [entry(), entry({ path: '/clusters' })], 'two mappings for path "/clusters"'],
    ['a path that is no text', () => [entry({ path: 5 })], 'path is not a text'],
  ])('%s', (_what, entries, message) => {
    expect(() => read(...entries())).toThrow(message);
  });

  test('no list at all', () => {
    const watcher = new CertificateWatcher({}, { clock: systemClock, logger: silentLogger });
    expect(() => readMappings('path: /x', { watcher })).toThrow('a mapping file is a list');
    expect(() => readMappings('- just text', { watcher })).toThrow('entry 1 is no mapping');
  });
});
