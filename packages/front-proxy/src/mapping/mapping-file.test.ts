import { writeFileSync } from 'node:fs';
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

const readText = (text: string) => {
  writeFileSync(file('mappings.yaml'), text);
  return readMappings(file('mappings.yaml'), {
    watcher: new CertificateWatcher({}, { clock: systemClock, logger: silentLogger }),
  });
};
const read = (...entries: object[]) => readText(JSON.stringify(entries));
const entry = (rest: object = {}): object => ({
  path: '/clusters/',
  backend: 'https://localhost:6444',
  backend_server_ca: file('ca.crt'),
  proxy_client_cert: file('a.crt'),
  proxy_client_key: file('a.key'),
  ...rest,
});

test('entries get default headers, and /clusters/ has no backend', () => {
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

test('headers of an entry are filtered from all client requests', () => {
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

describe('invalid mappings', () => {
  const failed = 'failed to create path mapping for path "/clusters/": ';
  test.each<[string, () => object[], string]>([
    ['no CA', () => [entry({ backend_server_ca: undefined })], `${failed}failed to read CA file "": `],
    [
      'a CA file without a certificate',
      () => [entry({ backend_server_ca: file('a.key') })],
      `${failed}failed to read CA file `,
    ],
    ['no key', () => [entry({ proxy_client_key: undefined })], 'failed to load client certificate "'],
    ['the key of another certificate', () => [entry({ proxy_client_key: file('b.key') })], '" or key "'],
    ['no backend', () => [entry({ path: '/x', backend: '' })], 'failed to parse backend URL ""'],
    ['a backend of another scheme', () => [entry({ path: '/x', backend: 'ftp://x' })], 'failed to parse backend URL'],
    [
      'a path without a slash',
      () => [entry({ path: 'x' })],
      'mappings.yaml: [0].path: must be a path that begins with a slash',
    ],
    [
      'an invalid header name',
      () => [entry({ user_header: 'a b' })],
      'mappings.yaml: [0].user_header: must be an HTTP header name',
    ],
    ['the same path twice', () => [entry(), entry({ path: '/clusters' })], 'two mappings for path "/clusters"'],
    [
      'a path that is not a string',
      () => [entry({ path: 5 })],
      '[0].path: must be a path that begins with a slash, got number',
    ],
  ])('%s', (_what, entries, message) => {
    expect(() => read(...entries())).toThrow(message);
  });

  test('a document of another structure', () => {
    expect(() => readText('path: /x')).toThrow('mappings.yaml: must be a list of path mappings, got object');
    expect(() => readText('- just text')).toThrow('mappings.yaml: [0]: must be a path mapping, got string');
    expect(() => readText('[')).toThrow(/^--mapping-file: .*mappings\.yaml: yaml: /);
  });

  test('a file that does not exist', () => {
    const watcher = new CertificateWatcher({}, { clock: systemClock, logger: silentLogger });
    expect(() => readMappings(file('missing'), { watcher })).toThrow(/^--mapping-file: .*missing cannot be read$/);
  });
});
