import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestTransport, type ClientConfig } from '@multiplane/client';
import { eventually, TestIssuer } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const tenancy = { group: 'tenancy.kcp.io', version: 'v1alpha1' };
const workspaces = { ...tenancy, resource: 'workspaces' };
const types = { ...tenancy, resource: 'workspacetypes' };
const configurations = { ...tenancy, resource: 'workspaceauthenticationconfigurations' };
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const root = 'root' as LogicalClusterName;
const apiAudience = 'https://kcp.default.svc';
const aud = ['a', apiAudience];
const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

describe('token issuers of a workspace type', () => {
  let shard: InProcessShard;
  let issuer: TestIssuer;
  let config: ClientConfig;
  beforeAll(async () => {
    issuer = await TestIssuer.start();
    shard = await InProcessShard.start([
      '--storage-backend=memory',
      '--feature-gates=WorkspaceAuthentication=true',
      '--webhook-allowed-networks=127.0.0.1/32',
    ]);
    const kubeconfig = shard.directory.join('root', 'admin.kubeconfig');
    config = clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, 'base');
    await shard.client.create(configurations, root, configuration('issuer', [entry()]));
    await shard.client.create(types, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'federated' },
      spec: { authenticationConfigurations: [{ name: 'missing' }, { name: 'issuer' }] },
    });
    [ours, other] = await Promise.all([workspace('ours', 'federated'), workspace('other', 'universal')]);
  }, 120_000);
  afterAll(async () => {
    await shard[Symbol.asyncDispose]();
    await issuer.stop();
  });
  let ours: LogicalClusterName;
  let other: LogicalClusterName;

  const entry = (more: JsonObject = {}): JsonObject => ({
    issuer: { url: issuer.url, certificateAuthority: issuer.ca, audiences: ['a'] },
    claimMappings: {
      username: { claim: 'sub', prefix: '' },
      groups: { claim: 'groups', prefix: '' },
      extra: [{ key: 'example.org/team', valueExpression: 'claims.?team.orValue("")' }],
    },
    ...more,
  });
  const configuration = (name: string, jwt: JsonObject[]): KubeObject => ({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceAuthenticationConfiguration',
    metadata: { name },
    spec: { jwt },
  });
  async function workspace(name: string, type: string): Promise<LogicalClusterName> {
    await shard.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec: { type: { name: type, path: 'root' } },
    });
    return eventually(async () => {
      const { spec, status } = await shard.client.get(workspaces, { cluster: root, namespace: '', name });
      expect((status as JsonObject)['phase']).toBe('Ready');
      return (spec as JsonObject)['cluster'] as LogicalClusterName;
    });
  }
  async function ask(token: string, cluster: string, method = 'GET', path = '/version'): Promise<[number, string]> {
    const transport = new RestTransport({ config: { ...config, token } });
    try {
      const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
      const response = await transport.open({
        method,
        path: `/clusters/${cluster}${path}`,
        ...(method === 'POST' ? { body } : {}),
      });
      const chunks: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
      return [response.statusCode ?? 0, Buffer.concat(chunks).toString()];
    } finally {
      transport.close();
    }
  }

  test('authenticate users in the workspaces of the type only', async () => {
    await shard.client.create({ ...rbac, resource: 'clusterrolebindings' }, ours, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ann' },
      subjects: [{ apiGroup: rbac.group, kind: 'User', name: 'ann' }],
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'cluster-admin' },
    });
    const token = issuer.token({ aud, sub: 'ann', groups: ['team', 'system:masters'], team: 'red' });
    await eventually(async () => expect((await ask(token, ours))[0]).toBe(200));
    const [code, text] = await ask(token, ours, 'POST', reviews);
    expect(code).toBe(201);
    expect((JSON.parse(text) as { status: JsonObject }).status['userInfo']).toMatchObject({
      username: 'ann',
      groups: ['team', 'system:authenticated'],
      extra: {
        'example.org/team': ['red'],
        'authentication.kcp.io/scopes': [`cluster:${ours}`],
        'authentication.kcp.io/cluster-name': [ours],
      },
    });
    for (const cluster of [other, 'root', 'system:admin']) expect((await ask(token, cluster))[0]).toBe(401);
  });

  async function review(token: string, cluster: LogicalClusterName): Promise<JsonObject> {
    const tokenReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
    const { status } = await shard.client.create(tokenReviews, cluster, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token, audiences: [apiAudience] },
    });
    return status as JsonObject;
  }

  test('are known to a TokenReview in a workspace of the type, as users of this workspace', async () => {
    const token = issuer.token({ aud, sub: 'ann', groups: ['team'] });
    expect(await review(token, ours)).toMatchObject({
      authenticated: true,
      audiences: [apiAudience],
      user: {
        username: 'ann',
        groups: ['team', 'system:authenticated'],
        extra: {
          'authentication.kcp.io/scopes': [`cluster:${ours}`],
          'authentication.kcp.io/cluster-name': [ours],
        },
      },
    });
    expect(await review(token, other)).not.toHaveProperty('authenticated');
  });

  test('are known to the first TokenReview in a new workspace, before any request with such a token', async () => {
    const fresh = await TestIssuer.start();
    try {
      const entryOfFresh = { ...entry(), issuer: { url: fresh.url, certificateAuthority: fresh.ca, audiences: ['a'] } };
      await shard.client.create(configurations, root, configuration('fresh', [entryOfFresh]));
      await shard.client.create(types, root, {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'WorkspaceType',
        metadata: { name: 'fresh' },
        spec: { authenticationConfigurations: [{ name: 'fresh' }] },
      });
      const cluster = await workspace('fresh', 'fresh');
      expect(await review(fresh.token({ aud, sub: 'ann' }), cluster)).toMatchObject({
        authenticated: true,
        user: { username: 'ann' },
      });
    } finally {
      await fresh.stop();
    }
  });

  test('cannot assert system users, and need an audience of this server', async () => {
    for (const claims of [
      { aud, sub: 'system:admin' },
      { aud, sub: 'system:serviceaccount:default:default' },
      { sub: 'ann', aud: 'a' },
      { sub: 'ann', aud: apiAudience },
    ])
      expect((await ask(issuer.token(claims), ours))[0]).toBe(401);
  });

  test('are dropped at once when the configuration is deleted', async () => {
    await shard.client.create(configurations, root, configuration('second', [entry()]));
    await shard.client.create(types, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'short' },
      spec: { authenticationConfigurations: [{ name: 'second' }] },
    });
    const cluster = await workspace('short', 'short');
    const token = issuer.token({ aud, sub: 'bob' });
    expect((await ask(token, cluster))[0]).toBe(403);
    await shard.client.delete(configurations, { cluster: root, namespace: '', name: 'second' });
    await eventually(async () => expect((await ask(token, cluster))[0]).toBe(401));
  });

  /** The warnings that a new configuration is stored with. */
  async function warningOf(name: string, ...jwt: JsonObject[]): Promise<string> {
    const response = await shard.transport.open({
      method: 'POST',
      path: '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations',
      body: JSON.stringify(configuration(name, jwt)),
    });
    response.resume();
    expect(response.statusCode).toBe(201);
    return String(response.headers['warning']);
  }

  test('an issuer has at most 64 expressions with 16 KiB together', async () => {
    // One expression more is in the mapping of every entry.
    const rules = (count: number, padding = ''): JsonObject => ({
      claimValidationRules: Array.from({ length: count }, (_, n) => ({
        expression: `${n} < 64${padding}`,
        message: 'm',
      })),
    });
    const cases: readonly (readonly [name: string, more: JsonObject, warning: string, status: number])[] = [
      ['at-limit', rules(63), 'undefined', 403],
      ['many', rules(64), 'spec.jwt[0]: Forbidden: an authenticator may have 64 expressions', 401],
      ['long', rules(2, ' '.repeat(8 << 10)), 'with 16384 characters together; it has 3 with 16', 401],
    ];
    for (const [name, more, warning, status] of cases) {
      expect(await warningOf(name, entry(more))).toContain(warning);
      await shard.client.create(types, root, {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'WorkspaceType',
        metadata: { name },
        spec: { authenticationConfigurations: [{ name }] },
      });
      const cluster = await workspace(name, name);
      expect([name, (await ask(issuer.token({ aud, sub: 'bob' }), cluster))[0]]).toEqual([name, status]);
    }
    expect(await warningOf('issuers', ...Array.from({ length: 65 }, () => entry()))).toContain(
      'spec.jwt: Too many: 65: must have at most 64 items',
    );
  });

  test('configurations with unusable entries are stored with warnings', async () => {
    expect(await warningOf('broken', entry({ claimMappings: { username: { expression: 'nonsense(' } } }))).toContain(
      'spec.jwt[0].claimMappings.username.expression',
    );
    expect(
      await warningOf('no-rule', entry({ claimValidationRules: [{ expression: 'claims.a', message: 'm' }] })),
    ).toContain('must evaluate to bool');
    expect(
      await warningOf('plain', { ...entry(), issuer: { url: 'http://plain.example.com', audiences: ['a'] } }),
    ).toContain('URL scheme must be https');
    await shard.client.create(types, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'broken' },
      spec: { authenticationConfigurations: [{ name: 'broken' }] },
    });
    const cluster = await workspace('broken', 'broken');
    expect((await ask(issuer.token({ aud, sub: 'ann' }), cluster))[0]).toBe(401);
  });
});
