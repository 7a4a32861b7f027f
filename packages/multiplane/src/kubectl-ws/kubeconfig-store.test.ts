import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chmodSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { encodeYaml } from '@multiplane/apimachinery';
import { readKubeconfig, type Kubeconfig } from '@multiplane/client';
import { TempDir } from '@multiplane/testing';
import { kubeconfigPaths } from './kubeconfig-files.ts';
import { currentContextName, KubeconfigStore, previousContextName } from './kubeconfig-store.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('kubeconfig-store');
});
afterEach(() => folder.remove());

const urlOf = (host: string, path = 'root'): string => `https://${host}:6443/clusters/${path}`;

/** A kubeconfig with one context, cluster and user of a name. */
function written(
  name: string,
  config: Partial<Kubeconfig> = {},
  user: Kubeconfig['users'][number]['user'] = {},
): string {
  const file = folder.join(`${name}.kubeconfig`);
  const whole: Kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server: urlOf(name) } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { token: `token-of-${name}`, ...user } }],
    ...config,
  };
  writeFileSync(file, encodeYaml(whole));
  return file;
}
const namesIn = (file: string): Record<string, unknown> => {
  const { clusters, contexts, 'current-context': current } = readKubeconfig(file);
  return { current, clusters: clusters.map(({ name }) => name), contexts: contexts.map(({ name }) => name) };
};

test('KUBECONFIG may have several files, missing and repeated ones included', () => {
  const [a, b] = [written('a'), written('b')];
  const KUBECONFIG = ['', folder.join('none'), a, b, a].join(delimiter);
  const files = kubeconfigPaths(undefined, { KUBECONFIG });
  expect(files).toEqual([folder.join('none'), a, b]);
  expect(kubeconfigPaths('flag', { KUBECONFIG })).toEqual(['flag']);
  expect(new KubeconfigStore({ files }).client()).toMatchObject({ server: urlOf('a'), token: 'token-of-a' });
  expect(new KubeconfigStore({ files, context: 'b' }).client()).toMatchObject({
    server: urlOf('b'),
    token: 'token-of-b',
  });
  expect(() => new KubeconfigStore({ files: [folder.join('none')] })).toThrow('ENOENT');
  expect(() => new KubeconfigStore({ files: [folder.join('none'), folder.join('nor')] })).toThrow('ENOENT');
});

test('use writes to the files of the cluster and the context, and the current context to the first file', async () => {
  const [a, b] = [written('a'), written('b')];
  const before = readFileSync(a, 'utf8');
  await new KubeconfigStore({ files: [a, b], context: 'b' }).use(urlOf('b', 'root:x'));
  expect(namesIn(a)).toEqual({ current: currentContextName, clusters: ['a'], contexts: ['a'] });
  expect(readFileSync(a, 'utf8')).toBe(before.replace('current-context: a', `current-context: ${currentContextName}`));
  expect(namesIn(b)).toEqual({
    current: 'b',
    clusters: ['b', currentContextName],
    contexts: ['b', previousContextName, currentContextName],
  });
  expect(new KubeconfigStore({ files: [a, b] }).client()).toMatchObject({
    server: urlOf('b', 'root:x'),
    token: 'token-of-b',
  });
});

test('usePrevious restores the previous server and user', async () => {
  const file = written('a', {
    clusters: ['a', 'b'].map((name) => ({ name, cluster: { server: urlOf(name) } })),
    contexts: ['a', 'b'].map((name) => ({ name, context: { cluster: name, user: name } })),
    users: ['a', 'b'].map((name) => ({ name, user: { token: `token-of-${name}` } })),
  });
  const store = (context?: string): KubeconfigStore => new KubeconfigStore({ files: [file], context });
  expect(await store().usePrevious()).toBe(false);
  await store().use(urlOf('a', 'root:x'));
  await store().use(urlOf('a', 'root:y'));
  expect(await store('b').usePrevious()).toBe(true);
  expect(store().client()).toMatchObject({ server: urlOf('a', 'root:x'), token: 'token-of-a' });
  expect(await store().usePrevious()).toBe(true);
  expect(store().client()).toMatchObject({ server: urlOf('b'), token: 'token-of-b' });
});

test('paths are relative to the folder of their file, and stay relative in it', async () => {
  writeFileSync(folder.join('ca.crt'), 'the CA');
  const cluster = { server: urlOf('a'), 'certificate-authority': 'ca.crt' };
  const file = written('a', { clusters: [{ name: 'a', cluster }] });
  const store = new KubeconfigStore({ files: [file] });
  await store.use(urlOf('a', 'root:x'));
  expect(store.client().ca).toBe('the CA');
  expect(readKubeconfig(file).clusters[1]?.cluster['certificate-authority']).toBe('ca.crt');
});

test('a kubeconfig that is a symbolic link stays one', async () => {
  const [link, file] = [folder.join('link'), written('a')];
  symlinkSync(file, link);
  await new KubeconfigStore({ files: [link] }).use(urlOf('a', 'root:x'));
  expect(readlinkSync(link)).toBe(file);
  expect(namesIn(file)).toMatchObject({ current: currentContextName });
});

test('a credential plugin provides the credentials', () => {
  const plugin = folder.join('plugin');
  const asks = (script: string, more: object = {}): KubeconfigStore => {
    writeFileSync(plugin, `#!/bin/sh\n${script}\n`);
    chmodSync(plugin, 0o700);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin,
      args: ['get'],
      env: [{ name: 'WHO', value: 'me' }],
      provideClusterInfo: true,
      interactiveMode: 'Never' as const,
      ...more,
    };
    return new KubeconfigStore({ files: [written('a', {}, { exec })], environment: { PATH: '/usr/bin:/bin' } });
  };
  const answer = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":';
  const seen = folder.join('seen');
  const store = asks(`echo "$KUBERNETES_EXEC_INFO" > ${seen}; echo '${answer}{"token":"'$WHO-$1'"}}'`);
  expect(store.client(false).token).toBe('token-of-a');
  expect(store.client()).toMatchObject({ server: urlOf('a'), token: 'me-get' });
  expect(JSON.parse(readFileSync(seen, 'utf8'))).toEqual({
    kind: 'ExecCredential',
    apiVersion: 'client.authentication.k8s.io/v1',
    spec: { cluster: { server: urlOf('a'), config: null }, interactive: false },
  });
  expect(asks(`echo '${answer}{"clientCertificateData":"c","clientKeyData":"k"}}'`).client()).toMatchObject({
    certificate: 'c',
    key: 'k',
  });
  const failing = (script: string, more?: object) => () => asks(script, more).client();
  expect(failing('exit 3', { command: './plugin' })).toThrow(`executable ${plugin} failed`);
  expect(failing('exit 3')).toThrow(`getting credentials: exec: executable ${plugin} failed with exit code 3`);
  expect(failing('echo no')).toThrow('getting credentials: decoding stdout: ');
  expect(failing(`echo '${answer}{}}'`)).toThrow("exec plugin didn't return a token or cert/key pair");
  expect(failing('echo {}')).toThrow('plugin returned version ');
  expect(failing('', { command: 'no-such-plugin', installHint: 'get it there' })).toThrow(
    'getting credentials: exec: executable no-such-plugin not found\n\nget it there',
  );
});
