import { X509Certificate } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CertificateAuthority } from './certificate-authority.ts';
import { initClusterPki, pairFiles, type PkiState } from './cluster-pki.ts';
import { type ClusterPkiOptions, validateClusterPkiOptions } from './cluster-plan.ts';
import { writeCertificate } from './stored-authority.ts';
import { FakeClock } from '@multiplane/testing';

const day = 24 * 60 * 60 * 1000;
let folder: string;
let clock: FakeClock;
let options: ClusterPkiOptions;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
  clock = new FakeClock();
  options = {
    directory: join(folder, 'pki'),
    shardUrls: { root: 'https://localhost:6444', 'shard-1': 'https://shard-1.example.org:6445' },
    externalUrl: 'https://api.example.org',
    frontProxyUrl: 'https://front-proxy:6443',
    cacheUrl: 'https://localhost:8012',
    hosts: ['10.0.0.7'],
    namePrefix: 'release-',
    days: 365,
    authorityDays: 3650,
  };
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs it; what became of each file. */
async function init(
  given: Partial<Parameters<typeof initClusterPki>[0]> = {},
  warn?: (text: string) => void,
): Promise<Map<string, PkiState>> {
  const states = new Map<string, PkiState>();
  await initClusterPki(
    { ...options, ...given },
    { clock, warn, report: (state, path) => void states.set(path.slice(options.directory.length + 1), state) },
  );
  return states;
}
const text = (path: string): string => readFileSync(join(options.directory, path), 'utf8');
const certificate = (path: string): X509Certificate => new X509Certificate(text(path));

test('every server and every client identity gets a certificate of its CA', async () => {
  await init();
  const issuedBy = (leaf: string, authority: string): boolean =>
    certificate(leaf).verify(certificate(authority).publicKey);
  for (const server of ['front-proxy', 'cache-server', 'shard-root', 'shard-1', 'virtual-workspaces-root']) {
    const name = server === 'shard-1' ? 'shard-shard-1' : server;
    expect(issuedBy(`${name}/tls.crt`, 'serving-ca.crt')).toBe(true);
    expect(certificate(`${name}/tls.crt`).checkIP('10.0.0.7')).toBe('10.0.0.7');
  }
  expect(certificate('front-proxy/tls.crt').checkHost('api.example.org')).toBe('api.example.org');
  expect(certificate('shard-shard-1/tls.crt').checkHost('shard-1.example.org')).toBe('shard-1.example.org');
  expect(certificate('nats/tls.crt').checkHost('release-nats')).toBe('release-nats');
  expect(issuedBy('kcp-front-proxy/tls.crt', 'requestheader-ca.crt')).toBe(true);
  expect(issuedBy('kcp-front-proxy/tls.crt', 'client-ca.crt')).toBe(false);
  expect(issuedBy('etcd-root/tls.crt', 'storage-ca.crt')).toBe(true);
  const admin = certificate('external-logical-cluster-admin/tls.crt').subject.split('\n').toSorted();
  expect(admin).toEqual(['CN=external-logical-cluster-admin', 'O=system:kcp:external-logical-cluster-admin']);
});

test('keys and kubeconfigs are readable by their owner only', async () => {
  await init();
  const secret = (readdirSync(options.directory, { recursive: true }) as string[]).filter((path) =>
    /\.(key|kubeconfig)$/.test(path),
  );
  expect(secret.length).toBeGreaterThan(20);
  for (const path of secret)
    expect([path, statSync(join(options.directory, path)).mode & 0o777]).toEqual([path, 0o600]);
});

test('kubeconfigs name relative files; the one for users embeds everything', async () => {
  await init();
  expect(JSON.parse(text('cache.kubeconfig'))).toMatchObject({
    clusters: [{ cluster: { server: 'https://localhost:8012', 'certificate-authority': 'serving-ca.crt' } }],
    users: [{ user: { 'client-certificate': 'shard-admin/tls.crt', 'client-key': 'shard-admin/tls.key' } }],
  });
  const admin = JSON.parse(text('admin.kubeconfig')) as {
    users: { user: Record<string, string> }[];
    clusters: { name: string; cluster: { server: string } }[];
  };
  expect(admin.clusters.map(({ name, cluster }) => [name, cluster.server])).toEqual([
    ['root', 'https://api.example.org/clusters/root'],
    ['base', 'https://api.example.org'],
  ]);
  const inside = Buffer.from(admin.users[0]?.user['client-certificate-data'] ?? '', 'base64').toString();
  expect(inside).toBe(text('kcp-admin/tls.crt'));
});

describe('a second run', () => {
  test('keeps everything', async () => {
    await init();
    const before = readdirSync(options.directory, { recursive: true }).length;
    expect(new Set((await init()).values())).toEqual(new Set(['kept']));
    expect(readdirSync(options.directory, { recursive: true })).toHaveLength(before);
  });

  test('adds the files of a new shard and keeps the rest', async () => {
    await init();
    const states = await init({ shardUrls: { ...options.shardUrls, 'shard-2': 'https://localhost:6446' } });
    expect([...states].filter(([, state]) => state === 'made').map(([path]) => path)).toEqual([
      'shard-shard-2/tls.crt',
      'virtual-workspaces-shard-2/tls.crt',
      'etcd-shard-2/tls.crt',
      'shard-shard-2.kubeconfig',
    ]);
    expect([...states.values()].filter((state) => state === 'renewed')).toEqual([]);
  });

  test('renews only the server whose names have changed', async () => {
    await init();
    const states = await init({ externalUrl: 'https://api.example.com' });
    expect([...states].filter(([, state]) => state === 'renewed').map(([path]) => path)).toEqual([
      'front-proxy/tls.crt',
      'console/tls.crt',
      'admin.kubeconfig',
    ]);
  });

  test('renews certificates that expire within a month, never a CA', async () => {
    await init();
    const authority = text('serving-ca.crt');
    await clock.advance(336 * day);
    const states = await init();
    const renewed = [...states].filter(([, state]) => state === 'renewed').map(([path]) => path);
    expect(renewed).toContain('shard-root/tls.crt');
    expect(renewed).toContain('kcp-admin/tls.crt');
    expect(renewed).toContain('admin.kubeconfig');
    expect(text('serving-ca.crt')).toBe(authority);
  });

  test('renews all certificates on request, but no CAs and token keys', async () => {
    await init();
    const states = await init({ renew: true });
    expect([...states].filter(([, state]) => state === 'kept').map(([path]) => path)).toEqual(
      expect.arrayContaining([
        'serving-ca.crt',
        'client-ca.crt',
        'requestheader-ca.crt',
        'storage-ca.crt',
        'workspace-ca.crt',
        'service-account.key',
      ]),
    );
    expect(states.get('shard-root/tls.crt')).toBe('renewed');
  });

  test('reissues a pair that a crash left mismatched', async () => {
    await init();
    writeFileSync(join(options.directory, 'nats', 'tls.key'), text('cache-server/tls.key'));
    expect((await init()).get('nats/tls.crt')).toBe('renewed');
  });
});

describe('a file that was not made here', () => {
  const foreignPair = async (hosts: readonly string[]) => {
    const corporate = await CertificateAuthority.create({ commonName: 'corporate' }, { clock });
    return corporate.issueServer({ commonName: 'shard-root', dnsNames: hosts });
  };

  test('is used as it is: a certificate of another CA, with a warning when a host is missing', async () => {
    const foreign = await foreignPair(['example.org']);
    await writeCertificate(pairFiles(options.directory, 'shard-root'), foreign);
    const warnings: string[] = [];
    for (const renew of [false, true]) {
      const states = await init({ renew }, (warning) => warnings.push(warning));
      expect(states.get('shard-root/tls.crt')).toBe('kept');
      expect(text('shard-root/tls.crt')).toBe(foreign.certificatePem);
      expect(text('shard-root/tls.key')).toBe(foreign.privateKeyPem);
    }
    expect(warnings[0]).toMatch(
      /shard-root\/tls\.crt was not issued here and is kept, but it does not cover the hosts /,
    );
  });

  test('is an error when it is a key without its certificate', async () => {
    mkdirSync(join(options.directory, 'shard-root'), { recursive: true });
    writeFileSync(join(options.directory, 'shard-root', 'tls.key'), 'a key');
    await expect(init()).rejects.toThrow(/only one of .*shard-root\/tls\.crt and .*tls\.key exists/);
    expect(text('shard-root/tls.key')).toBe('a key');
  });

  test.each(['cache.kubeconfig', 'admin.kubeconfig'])('is kept with a warning: %s', async (file) => {
    const foreign = 'apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user: {}\n';
    mkdirSync(options.directory, { recursive: true });
    writeFileSync(join(options.directory, file), foreign);
    const warnings: string[] = [];
    await init({}, (warning) => warnings.push(warning));
    expect(text(file)).toBe(foreign);
    expect(warnings).toEqual([expect.stringContaining(`${file} is not a kubeconfig that was made here; it is kept`)]);
  });
});

test('a bundle of two CAs signs with the first one', async () => {
  await init();
  const old = text('serving-ca.crt');
  const next = text('client-ca.crt');
  writeFileSync(join(options.directory, 'serving-ca.crt'), `${old}${next}`);
  const states = await init({ renew: true });
  expect(states.get('serving-ca.crt')).toBe('kept');
  expect(certificate('shard-root/tls.crt').verify(new X509Certificate(old).publicKey)).toBe(true);
  expect(text('serving-ca.crt')).toBe(`${old}${next}`);
});

test('a CA with one missing file is an error that names the files, and nothing is overwritten', async () => {
  await init();
  rmSync(join(options.directory, 'client-ca.key'));
  const before = text('client-ca.crt');
  await expect(init()).rejects.toThrow(/only one of .*client-ca\.crt and .*client-ca\.key exists/);
  expect(text('client-ca.crt')).toBe(before);
});

test.each<[string, Partial<ClusterPkiOptions>]>([
  ['one of the shards must be called root', { shardUrls: { a: 'https://localhost:1' } }],
  ['"Bad_Name" is not a valid shard name', { shardUrls: { root: 'https://a', Bad_Name: 'https://b' } }],
  ['"http://x" is not https://<host>[:<port>]', { cacheUrl: 'http://x' }],
  ['"https://x/path" is not https://<host>[:<port>]', { externalUrl: 'https://x/path' }],
  ['"a b" is neither a host name nor an address', { hosts: ['a b'] }],
])('refuses: %s', (message, given) => {
  expect(validateClusterPkiOptions({ ...options, ...given })).toBe(message);
  expect(validateClusterPkiOptions(options)).toBeUndefined();
});
