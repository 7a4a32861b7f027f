import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
