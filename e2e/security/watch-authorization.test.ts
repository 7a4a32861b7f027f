import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { apiExport, apiResourceSchema, eventually, TempDir } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import { topologyName } from '../harness/start-control-plane.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import { grantAccess } from '../harness/workspaces.ts';

/**
 * A watch ends at most ten seconds after its caller lost what it was admitted for. The time for a loaded machine is added: that
 * it ends long before its own timeout of at least 30 minutes is what counts.
 */
const soon = { timeout: 30_000 };

const rbac = '/apis/rbac.authorization.k8s.io/v1';
let directory: TempDir;
let authority: CertificateAuthority;
let shared: SharedApis;
const base = '/clusters/root:provider';

beforeAll(async () => {
  directory = await TempDir.create('watch-authorization');
  authority = await CertificateAuthority.create({ commonName: 'clients' });
  writeFileSync(directory.join('clients.crt'), authority.pem.certificatePem);
  shared = await SharedApis.start(
    topologyName === 'sharded'
      ? {}
      : { ownProcesses: true, flags: [`--client-ca-file=${directory.join('clients.crt')}`] },
  );
  const { cluster } = shared;
  if (topologyName === 'sharded') {
    authority = await CertificateAuthority.load({
      certificatePem: readFileSync(cluster.path('pki', 'client-ca.crt'), 'utf8'),
      privateKeyPem: readFileSync(cluster.path('pki', 'client-ca.key'), 'utf8'),
    });
  }
  const admin = cluster.transport('base');
  await grantAccess(admin, 'root:provider', ['user-1', 'user-2', 'user-3', 'short-lived']);
  admin.close();
  await role('configmaps', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]);
}, 240_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
  await directory?.remove();
});

const role = (name: string, rules: readonly object[], of = base): Promise<unknown> =>
  shared.post(`${of}${rbac}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });

const bind = (name: string, to: string, subject: object, of = base): Promise<unknown> =>
  shared.post(`${of}${rbac}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: to },
    subjects: [subject],
  });
const unbind = (name: string, of = base): Promise<unknown> => shared.remove(`${of}${rbac}/clusterrolebindings/${name}`);
const user = (name: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name });

const configMaps = `${base}/api/v1/namespaces/default/configmaps?watch=1`;

/** Opens a watch, as soon as its caller may. */
const watch = (path: string, as: string, headers: Readonly<Record<string, string>> = {}): Promise<OpenWatch> =>
  eventually(async () => {
    const opened = await shared.requests.watch(path, as, headers);
    if (opened.status !== 200) {
      opened.close();
      throw new Error(`the watch answered ${opened.status}`);
    }
    return opened;
  }, soon);

/** How a watch ends: `complete`, or cut off by an error of the connection. Throws if it does not end. */
const endOf = (opened: OpenWatch): Promise<string> =>
  eventually(() => {
    if (!opened.ended) throw new Error('the watch goes on');
    return opened.failed ? 'cut off' : 'complete';
  }, soon);

test('a watch ends with the binding that allowed it; that of another user continues', async () => {
  await bind('one', 'configmaps', user('user-1'));
  await bind('two', 'configmaps', user('user-2'));
  const ends = await watch(configMaps, 'user-1');
  const stays = await watch(configMaps, 'user-2');
  await unbind('one');
  expect(await endOf(ends)).toBe('complete');
  expect(stays.ended).toBe(false);
  expect((await shared.requests.send({ path: configMaps, as: 'user-1' })).status).toBe(403);
  await shared.post(`${base}/api/v1/namespaces/default/configmaps`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'seen' },
  });
  await eventually(() =>
    expect(stays.events.map((event) => (event['object'] as { metadata: { name: string } }).metadata.name)).toContain(
      'seen',
    ),
  );
  stays.close();
});

test('a watch ends with its role, and with the right to impersonate its user', async () => {
  await role('briefly', [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }]);
  await bind('briefly', 'briefly', user('user-1'));
  const secrets = await watch(`${base}/api/v1/secrets?watch=1`, 'user-1');
  await shared.remove(`${base}${rbac}/clusterroles/briefly`);
  expect(await endOf(secrets)).toBe('complete');
  // user-2 may still watch config maps, but user-1 may not be user-2 any more.
  await role('actor', [{ apiGroups: [''], resources: ['users'], resourceNames: ['user-2'], verbs: ['impersonate'] }]);
  await bind('actor', 'actor', user('user-1'));
  const acted = await watch(configMaps, 'user-1', { 'impersonate-user': 'user-2' });
  await unbind('actor');
  expect(await endOf(acted)).toBe('complete');
});

test('a watch with the token of a service account ends with the account', async () => {
  const accounts = `${base}/api/v1/namespaces/default/serviceaccounts`;
  await shared.post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } });
  await bind('robot', 'configmaps', { kind: 'ServiceAccount', namespace: 'default', name: 'robot' });
  const review = (await shared.post(`${accounts}/robot/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  })) as { status: { token: string } };
  const opened = await watch(configMaps, review.status.token);
  await shared.remove(`${accounts}/robot`);
  expect(await endOf(opened)).toBe('complete');
});

test('a watch with a client certificate ends when the certificate expires', async () => {
  await bind('short-lived', 'configmaps', user('short-lived'));
  const seconds = 8;
  const { certificatePem, privateKeyPem } = await authority.issueClient(
    { user: 'short-lived' },
    seconds / (24 * 60 * 60),
  );
  const agent = new Agent({ ca: shared.cluster.ca, cert: certificatePem, key: privateKeyPem });
  const state = { status: 0, ended: false };
  const request = httpsRequest(`${shared.cluster.url}${configMaps}`, { agent }, (response) => {
    state.status = response.statusCode ?? 0;
    response.resume();
    response.on('end', () => (state.ended = true));
  });
  request.on('error', () => undefined);
  request.end();
  try {
    await eventually(() => expect(state.status).toBe(200));
    expect(state.ended).toBe(false);
    await eventually(() => expect(state.ended).toBe(true), soon);
  } finally {
    agent.destroy();
  }
});

test('a provider loses its watch of all consumers, and of one, with its access to the content', async () => {
  await shared.addSchema(apiResourceSchema({ group: 'wildwest.dev', plural: 'horses', scope: 'Cluster' }));
  await shared.offer(apiExport('horses', ['v1.horses.wildwest.dev']));
  await shared.nearAndFar();
  await shared.bind('near', 'horses');
  await role('content', [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] }]);
  await bind('content', 'content', user('user-3'));
  const endpoint = `/services/apiexport/${shared.clusters.get('provider') ?? ''}/horses/clusters`;
  const path = (cluster: string): string => `${endpoint}/${cluster}/apis/wildwest.dev/v1/horses?watch=1`;
  const everywhere = await watch(path('*'), 'user-3');
  const near = await watch(path(shared.clusters.get('near') ?? ''), 'user-3');
  await unbind('content');
  expect(await endOf(everywhere)).toBe('complete');
  expect(await endOf(near)).toBe('complete');
}, 120_000);

test('watches in a workspace end with it, those of a provider too', async () => {
  await shared.bind('far', 'horses');
  const far = shared.clusters.get('far') ?? '';
  const own = await watch('/clusters/root:far/api/v1/configmaps?watch=1', 'masters');
  const endpoint = `/services/apiexport/${shared.clusters.get('provider') ?? ''}/horses/clusters/${far}`;
  const provided = await watch(`${endpoint}/apis/wildwest.dev/v1/horses?watch=1`, 'masters');
  await shared.remove('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/far');
  expect(await endOf(own)).toBe('complete');
  expect(await endOf(provided)).toBe('complete');
}, 120_000);

test.each([
  [{ user: 'somebody', groups: ['system:cluster:root'] }],
  [{ user: 'system:serviceaccount:default:robot' }],
  [{ user: 'somebody', groups: ['system:serviceaccounts'] }],
])('a client certificate of the CA of users for %j is refused', async (identity) => {
  const { certificatePem, privateKeyPem } = await authority.issueClient(identity);
  const agent = new Agent({ ca: shared.cluster.ca, cert: certificatePem, key: privateKeyPem });
  const status = await new Promise<number>((resolve, reject) => {
    httpsRequest(`${shared.cluster.url}${base}/api/v1/configmaps`, { agent }, (response) =>
      resolve(response.resume().statusCode ?? 0),
    )
      .on('error', reject)
      .end();
  });
  agent.destroy();
  expect(status).toBe(401);
});
