import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { freePorts, TempDir } from '@multiplane/testing';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';
import { LocalCluster } from '../harness/local-cluster.ts';

const command = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');

const theirKubeconfig = `apiVersion: v1
kind: Config
current-context: production
clusters: [{name: c, cluster: {server: "https://example.org"}}]
contexts: [{name: production, context: {cluster: c, user: me}}]
users: [{name: me, user: {token: mine}}]
`;

/** What an administrator or another tool brings, made by OpenSSL: keys and certificates are of another kind than those of the server. */
function bring(root: string): void {
  mkdirSync(root, { recursive: true });
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: root, stdio: 'ignore' });
  const hosts = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  for (const name of ['corporate', 'client-ca'])
    openssl(
      'req',
      '-x509',
      '-nodes',
      '-days',
      '90',
      '-newkey',
      'rsa:2048',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    );
  openssl(
    'req',
    '-nodes',
    '-newkey',
    'rsa:2048',
    '-subj',
    '/CN=api',
    ...hosts,
    '-keyout',
    'apiserver.key',
    '-out',
    'request',
  );
  const signed = ['-CA', 'corporate.crt', '-CAkey', 'corporate.key', '-CAcreateserial', '-copy_extensions', 'copy'];
  openssl('x509', '-req', '-in', 'request', '-days', '60', ...signed, '-out', 'apiserver.crt');
  openssl('genrsa', '-out', 'sa.key', '2048');
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'workspace-ca.key');
  openssl(
    'req',
    '-x509',
    '-days',
    '90',
    '-key',
    'workspace-ca.key',
    '-subj',
    '/CN=workspaces',
    '-out',
    'workspace-ca.crt',
  );
  writeFileSync(join(root, 'admin.kubeconfig'), theirKubeconfig);
  for (const name of ['notes.txt', 'data.md']) writeFileSync(join(root, name), 'mine');
}

const brought = [
  'apiserver.crt',
  'apiserver.key',
  'client-ca.crt',
  'client-ca.key',
  'workspace-ca.crt',
  'workspace-ca.key',
  'sa.key',
  'notes.txt',
  'data.md',
];

describeWithKubectl('files of an administrator', () => {
  test('a server uses the files that it finds under its names, and none is changed, also by a restart', async () => {
    let before = new Map<string, string>();
    const read = (root: string) => new Map(brought.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
    await using cluster = await LocalCluster.start({
      prepare: (root) => {
        bring(root);
        before = read(root);
      },
    });
    const root = dirname(cluster.kubeconfig);
    expect(read(root)).toEqual(before);
    await cluster.process.stop();
    await cluster.process.start();
    expect(read(root)).toEqual(before);
    const text = readFileSync(cluster.kubeconfig, 'utf8');
    expect(text).toContain('current-context: production');
    expect(text).toContain('token: mine');
    // Clients verify the certificate by itself, those in Go and those in Node.
    await using kubectl = await Kubectl.create({ copyOf: cluster.kubeconfig });
    await kubectl.ok(['config', 'use-context', 'root']);
    expect(await kubectl.ok(['get', 'namespaces', '-o', 'name'])).toContain('namespace/default');
    expect(await kubectl.ok(['ws', 'tree'])).toContain('root');
  });
});

interface Refusal {
  readonly files: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

test.each<[string, Refusal]>([
  [
    'apiserver.key',
    { files: { 'apiserver.key': 'mine' }, says: /only one of \S*apiserver\.crt and \S*apiserver\.key exists/ },
  ],
  ['apiserver.crt', { files: { 'apiserver.crt': 'mine' }, says: /apiserver\.crt: not a complete PEM bundle/ }],
  ['ca.key', { files: { 'ca.key': 'mine' }, says: /only one of \S*ca\.crt and \S*ca\.key exists/ }],
  [
    'client-ca.crt',
    { files: { 'client-ca.crt': 'mine', 'client-ca.key': 'mine' }, says: /client-ca\.crt: not a complete PEM/ },
  ],
  ['sa.key', { files: { 'sa.key': 'mine' }, says: /sa\.key/ }],
  [
    'admin.kubeconfig',
    { files: { 'admin.kubeconfig': 'mine' }, says: /admin\.kubeconfig is not a kubeconfig and is not overwritten/ },
  ],
  ['.admin-token-store', { files: { '.admin-token-store': 'mine' }, says: /\.admin-token-store/ }],
  ['data', { files: { 'data/report.txt': 'mine' }, says: /data is not empty and has no store \(report\.txt\)/ }],
  ['data', { files: { data: 'mine' }, says: /failed to create directory \S*data/ }],
])(
  'a server does not start, and names the file, when %s is something else; the file stays',
  async (_name, { files, says }) => {
    await using root = await TempDir.create('foreign');
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(root.join(name)), { recursive: true });
      writeFileSync(root.join(name), text);
    }
    const [port] = await freePorts(1);
    const args = ['start', '--root-directory', root.path, '--bind-address', '127.0.0.1', '--secure-port', String(port)];
    const ended = await promisify(execFile)(command, args, { timeout: 60_000, killSignal: 'SIGKILL' }).then(
      () => undefined,
      (error: unknown) => error as { readonly code: unknown; readonly stderr: string; readonly stdout: string },
    );
    expect(`${ended?.stderr}${ended?.stdout}`).toMatch(says);
    expect(`${ended?.stderr}`).not.toMatch(/^\s+at .*\.js:\d+/m);
    expect(ended?.code).toBe(1);
    for (const [name, text] of Object.entries(files)) expect(readFileSync(root.join(name), 'utf8')).toBe(text);
  },
);
