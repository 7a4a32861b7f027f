import { expect, test } from '@jest/globals';
import { encodeYaml, parseYaml } from '@multiplane/apimachinery';
import type { Kubeconfig } from './kubeconfig.ts';
import { mergeKubeconfig } from './merge-kubeconfig.ts';

const cluster = (name: string, server: string, authority = 'b2xk'): Kubeconfig['clusters'][number] => ({
  name,
  cluster: { server, 'certificate-authority-data': authority },
});
const context = (name: string, user = 'admin', of = name): Kubeconfig['contexts'][number] => ({
  name,
  context: { cluster: of, user },
});
const made = (origin: string, authority?: string): Kubeconfig => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [cluster('base', origin, authority), cluster('root', `${origin}/clusters/root`, authority)],
  contexts: [context('base'), context('root')],
  'current-context': 'root',
  users: [{ name: 'admin', user: { token: 'new' } }],
});
const renewed = (before: string | undefined, config: Kubeconfig): Kubeconfig =>
  parseYaml(mergeKubeconfig(before, config)) as unknown as Kubeconfig;

/** As `kubectl ws`, `create-context` and a person leave it. */
const used: Kubeconfig = {
  ...made('https://localhost:6443'),
  clusters: [
    ...made('https://localhost:6443').clusters,
    cluster('workspace.kcp.io/current', 'https://localhost:6443/clusters/root:a'),
    cluster('elsewhere', 'https://example.org'),
  ],
  contexts: [...made('').contexts, context('workspace.kcp.io/current'), context('elsewhere', 'me')],
  'current-context': 'workspace.kcp.io/current',
  users: [
    { name: 'admin', user: { token: 'old' } },
    { name: 'me', user: { token: 'mine' } },
  ],
};

test('keeps the current context and the contexts of the user', () => {
  const config = renewed(encodeYaml(used), made('https://localhost:6443'));
  expect(config['current-context']).toBe('workspace.kcp.io/current');
  expect(config.contexts.map(({ name }) => name)).toEqual(['base', 'root', 'workspace.kcp.io/current', 'elsewhere']);
  expect(config.users).toEqual([
    { name: 'admin', user: { token: 'new' } },
    { name: 'me', user: { token: 'mine' } },
  ]);
});

test('gives copies of a cluster its new address and CA, and keeps other clusters', () => {
  const config = renewed(encodeYaml(used), made('https://localhost:7443', 'bmV3'));
  expect(config.clusters).toEqual([
    ...made('https://localhost:7443', 'bmV3').clusters,
    cluster('workspace.kcp.io/current', 'https://localhost:7443/clusters/root:a', 'bmV3'),
    cluster('elsewhere', 'https://example.org'),
  ]);
});

test('replaces a current context that no longer exists, and an unreadable file', () => {
  const wanted = made('https://localhost:6443');
  expect(renewed(encodeYaml({ ...used, 'current-context': 'gone' }), wanted)['current-context']).toBe('root');
  for (const before of [undefined, '', '{"clusters": [', '- a'])
    expect(mergeKubeconfig(before, wanted)).toBe(encodeYaml(wanted));
});

test('keeps the text of an unchanged file', () => {
  const text = mergeKubeconfig(encodeYaml(used), made('https://localhost:6443'));
  expect(mergeKubeconfig(text, made('https://localhost:6443'))).toBe(text);
});

test('replaces a file that the user has not changed', () => {
  const former = { ...made('https://localhost:6443', 'b2xk'), users: [{ name: 'admin', user: { token: 'old' } }] };
  const now = made('https://localhost:7443', 'bmV3');
  expect(mergeKubeconfig(encodeYaml(former), now)).toBe(encodeYaml(now));
});
