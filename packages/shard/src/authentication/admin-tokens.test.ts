import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readKubeconfig } from '@multiplane/client';
import { StaticTokenAuthenticator } from '@multiplane/generic-server';
import { writeAdminKubeconfig } from './admin-kubeconfig.ts';
import { adminTokens } from './admin-tokens.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multiplane-tokens-'));
});
afterEach(() => rm(directory, { recursive: true }));

const files = () => ({
  hashFile: join(directory, '.admin-token-store'),
  kubeconfigFile: join(directory, 'admin.kubeconfig'),
});
const start = () => adminTokens(files(), { tokens: new StaticTokenAuthenticator() });
const writeKubeconfig = (tokens: ReturnType<typeof adminTokens>): Promise<void> =>
  writeAdminKubeconfig({
    file: files().kubeconfigFile,
    server: 'https://localhost',
    ca: 'pem',
    ...tokens,
  });

test('all tokens survive restarts, differ from each other, and are new once the hash and the kubeconfig are removed', async () => {
  const options = { ...files(), withUser: true };
  const startWithUser = () => adminTokens(options, { tokens: new StaticTokenAuthenticator() });
  const tokensOf = ({ shardAdminToken, kcpAdminToken, userToken }: ReturnType<typeof adminTokens>) => [
    shardAdminToken,
    kcpAdminToken,
    userToken,
  ];
  const first = startWithUser();
  await writeKubeconfig(first);
  await first.storeHash();
  expect(new Set(tokensOf(first)).size).toBe(3);
  for (const token of tokensOf(first)) expect(token).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect(tokensOf(startWithUser())).toEqual(tokensOf(first));
  for (const file of [options.hashFile, options.kubeconfigFile]) await rm(file);
  expect(tokensOf(startWithUser()).filter((token) => tokensOf(first).includes(token))).toEqual([]);
});

test('a restart keeps the current context of the kubeconfig', async () => {
  await writeKubeconfig(start());
  const { kubeconfigFile } = files();
  const text = await readFile(kubeconfigFile, 'utf8');
  await writeFile(kubeconfigFile, text.replace('current-context: root', 'current-context: base'));
  await writeKubeconfig(start());
  expect(await readFile(kubeconfigFile, 'utf8')).toContain('current-context: base\n');
});

test('a start that failed before writing the kubeconfig does not block the next one', () => {
  expect(start().shardAdminToken).not.toBe(start().shardAdminToken);
});

test('a start that failed right after writing the kubeconfig does not block the next one', async () => {
  const first = start();
  await writeKubeconfig(first);
  const second = start();
  await writeKubeconfig(second);
  await second.storeHash();
  expect(start().shardAdminToken).toBe(second.shardAdminToken);
});

test('a missing or wrong token fails the start and names the file to remove', async () => {
  const first = start();
  await writeKubeconfig(first);
  await first.storeHash();
  const { hashFile, kubeconfigFile } = files();
  await writeKubeconfig({ ...first, shardAdminToken: 'another' });
  expect(start).toThrow(`is not valid anymore. Remove file "${hashFile}" and restart`);
  await rm(kubeconfigFile);
  expect(start).toThrow(`the token was lost. Remove file "${hashFile}" and restart`);
  expect(await readFile(hashFile)).toHaveLength(32);
});

test.each([
  [
    'a text that is no kubeconfig',
    'not: [a kubeconfig',
    /is not a kubeconfig and is not overwritten: choose another file with --kubeconfig-path/,
  ],
  [
    'a kubeconfig with a context of the same name',
    'apiVersion: v1\nkind: Config\ncontexts:\n- name: root\n  context: {cluster: c, user: me}\nusers:\n- name: me\n  user: {}\n',
    /has a context "root" that this server did not write/,
  ],
])(
  'a file of somebody else in the place of the kubeconfig is an error before anything is written: %s',
  async (_what, text, message) => {
    await writeFile(files().kubeconfigFile, text);
    expect(start).toThrow(message);
    expect(await readFile(files().kubeconfigFile, 'utf8')).toBe(text);
  },
);

test('the entries are added to a kubeconfig of somebody else that has no entries of these names', async () => {
  const theirs = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'production',
    clusters: [{ name: 'c', cluster: { server: 'https://example.org' } }],
    contexts: [{ name: 'production', context: { cluster: 'c', user: 'me' } }],
    users: [{ name: 'me', user: { token: 'mine' } }],
    extensions: [{ name: 'x', extension: { a: 1 } }],
  };
  await writeFile(files().kubeconfigFile, JSON.stringify(theirs));
  await writeKubeconfig(start());
  const merged = readKubeconfig(files().kubeconfigFile);
  expect(merged).toMatchObject({ 'current-context': 'production', extensions: theirs.extensions });
  expect(merged.users).toContainEqual(theirs.users[0]);
  expect(merged.contexts.map(({ name }) => name)).toEqual(expect.arrayContaining(['root', 'base', 'production']));
});

test('a hash file of somebody else is an error, and stays', async () => {
  await writeFile(files().hashFile, 'mine');
  expect(start).toThrow('Remove file');
  expect(await readFile(files().hashFile, 'utf8')).toBe('mine');
});

test.each(['hashFile', 'kubeconfigFile'] as const)('a start names a file that cannot be read: %s', async (name) => {
  const file = files()[name];
  await mkdir(file);
  expect(start).toThrow(expect.objectContaining({ message: `cannot read ${file}` }));
});
