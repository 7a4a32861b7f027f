import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { readKubeconfig } from '@multiplane/client';
import { runCommand } from '@multiplane/component-base';
import { KubeconfigStore } from '../kubectl-ws/kubeconfig-store.ts';
import { TempDir } from '@multiplane/testing';
import { pkiCommand } from './pki.ts';

let folder: TempDir;
let printed: string;
beforeEach(async () => {
  folder = await TempDir.create('pki-command');
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await folder.remove();
});

async function pki(...args: string[]): Promise<{ code: number; out: string }> {
  printed = '';
  let stderr = '';
  const program = { name: 'multiplane pki', version: '', ...pkiCommand({}) };
  const code = await runCommand(program, args, {
    stdout: (text) => void (printed += text),
    stderr: (text) => void (stderr += text),
  });
  return { code, out: printed + stderr };
}
const init = (...flags: string[]): Promise<{ code: number; out: string }> =>
  pki('init', '--directory', folder.join('pki'), '--shard-urls=root=https://localhost:6444', ...flags);

test('init creates and reports all files, and a second run creates nothing', async () => {
  const first = await init();
  expect(first.code).toBe(0);
  expect(first.out).toContain('made    serving-ca.crt\n');
  expect(first.out).toContain('made    shard-root/tls.crt\n');
  const again = await init('--quiet');
  expect(again.out).toBe(`${folder.join('pki')}: 0 made, 0 renewed, ${first.out.match(/^made /gm)?.length} kept\n`);
});

test('init keeps the current context of admin.kubeconfig', async () => {
  const file = folder.join('pki', 'admin.kubeconfig');
  await init();
  const store = new KubeconfigStore({ files: [file] });
  await store.use('https://localhost:6443/clusters/root:a');
  await store.createContext('mine', 'https://localhost:6443/clusters/root:a', false);
  expect((await init('--quiet')).out).toContain(' 0 renewed, ');
  const { 'current-context': current } = readKubeconfig(file);
  expect(current).toBe('mine');
  expect((await init('--quiet', '--renew')).code).toBe(0);
  expect(readKubeconfig(file)).toMatchObject({
    'current-context': 'mine',
    contexts: expect.arrayContaining([{ name: 'mine', context: { cluster: 'mine', user: 'kcp-admin' } }]),
  });
});

test('init rejects invalid options before it creates anything', async () => {
  expect(await init('--external-url', 'localhost')).toEqual({
    code: 1,
    out: '"localhost" is not https://<host>[:<port>]\nsee multiplane pki init --help\n',
  });
  expect((await init('everything')).out).toContain('unexpected argument "everything"');
  expect(() => readFileSync(folder.join('pki', 'serving-ca.crt'))).toThrow('ENOENT');
});

test('issue creates a client certificate, once', async () => {
  const issue = (...flags: string[]): Promise<{ code: number; out: string }> =>
    pki('issue', '--directory', folder.join('pki'), 'alice', ...flags);
  expect((await issue('--user=alice')).out).toContain('client-ca.crt does not exist; run multiplane pki init');
  await init();
  expect((await issue()).out).toContain('exactly one of --hosts and --user is required');
  expect((await issue('--hosts=a.example.org', '--groups=x')).out).toContain('--groups requires --user');
  expect((await issue('--user=alice', '--groups=a,b')).code).toBe(0);
  const made = readFileSync(folder.join('pki', 'alice', 'tls.crt'), 'utf8');
  expect((await issue('--user=alice')).out).toContain('--force replaces it');
  expect(readFileSync(folder.join('pki', 'alice', 'tls.crt'), 'utf8')).toBe(made);
  expect((await issue('--user=alice', '--force')).code).toBe(0);
  expect(readFileSync(folder.join('pki', 'alice', 'tls.crt'), 'utf8')).not.toBe(made);
});

test('secrets prints the Secrets of the chart, without the keys of CAs other than that with which shards sign', async () => {
  const secrets = (): Promise<{ code: number; out: string }> =>
    pki('secrets', '--directory', folder.join('pki'), '--name-prefix=mp-', '--namespace=tenants');
  expect((await secrets()).out).toContain('serving-ca.crt does not exist; run multiplane pki init');
  await init();
  const list = JSON.parse((await secrets()).out) as {
    items: { metadata: { name: string; namespace: string }; data: Record<string, string> }[];
  };
  const keys = new Map(list.items.map(({ metadata, data }) => [metadata.name, Object.keys(data).toSorted()]));
  expect(keys.get('mp-shard-root')).toEqual(['tls.crt', 'tls.key']);
  expect(keys.get('mp-storage-client')).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  expect(keys.get('mp-service-account')).toEqual(['tls.crt', 'tls.key']);
  expect(keys.get('mp-client-ca')).toEqual(['tls.crt']);
  expect(keys.get('mp-workspace-ca')).toEqual(['tls.crt', 'tls.key']);
  expect(new Set(list.items.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['tenants']));
  for (const authority of ['serving-ca', 'client-ca', 'requestheader-ca', 'storage-ca'])
    expect(JSON.stringify(list)).not.toContain(readFileSync(folder.join('pki', `${authority}.key`)).toString('base64'));
});
