import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import type { AuthorizationAttributes, AuthorizationResult } from '@multiplane/generic-server';
import { MaximalPermissionPolicyAuthorizer } from './maximal-permission-policy.ts';

const user = (name: string, more: Partial<UserInfo> = {}): UserInfo => ({
  name,
  uid: '',
  groups: ['team'],
  extra: {},
  ...more,
});

const request = (who: UserInfo, more: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user: who,
  cluster: 'consumer' as LogicalClusterName,
  verb: 'list',
  isResourceRequest: true,
  group: 'example.dev',
  version: 'v1',
  namespace: 'default',
  resource: 'widgets',
  subresource: '',
  name: '',
  path: '',
  ...more,
});

const anExport = (identityHash: string, policy: boolean): APIExport => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'things' },
  spec: policy ? { maximalPermissionPolicy: { local: {} } } : {},
  status: { identityHash },
});

const definition = (identities?: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'uid',
    ...(identities === undefined ? {} : { annotations: { 'internal.apis.kcp.io/policed-identities': identities } }),
  },
});

/** A consumer that has bound `widgets` from the export `things` of the provider, whose RBAC knows these users. */
function policy(granted: readonly string[], state: { export?: APIExport; definition?: KubeObject }) {
  const asked: AuthorizationAttributes[] = [];
  const authorizer = new MaximalPermissionPolicyAuthorizer({
    delegate: { authorize: async () => Promise.resolve({ decision: 'allow', reason: 'consumer' }) },
    bindings: {
      boundResource: (cluster, group, resource) =>
        cluster === 'consumer' && group === 'example.dev' && resource === 'widgets'
          ? {
              binding: { exportCluster: 'provider', exportName: 'things' },
              bound: { schema: { UID: 'uid', identityHash: 'own' } },
            }
          : undefined,
    },
    exports: { get: ({ cluster }) => (cluster === 'provider' ? state.export : undefined), list: () => [] },
    definitions: {
      get: ({ cluster }) => (cluster === 'system:bound-crds' ? state.definition : undefined),
      list: () => [],
    },
    rbac: {
      authorize: async (attributes): Promise<AuthorizationResult> => {
        asked.push(attributes);
        const names = [attributes.user.name, ...attributes.user.groups];
        const known = attributes.cluster === 'provider' && names.some((name) => granted.includes(name));
        return Promise.resolve(
          known ? { decision: 'allow', reason: 'provider' } : { decision: 'noOpinion', reason: 'no rule' },
        );
      },
    },
  });
  return { authorizer, asked };
}

describe('maximal permission policy', () => {
  test('denies what the provider does not grant', async () => {
    const { authorizer } = policy([], { export: anExport('own', true) });
    expect(await authorizer.authorize(request(user('ann')))).toEqual({
      decision: 'noOpinion',
      reason: 'API export "provider"|"things" policy: no rule',
    });
  });

  test('limits consumers, not the provider in the APIExport virtual workspace', async () => {
    const { authorizer } = policy([], { export: anExport('own', true) });
    const through = (name: string): UserInfo =>
      user('ann', {
        extra: {
          'authorization.kcp.io/warrant': [
            JSON.stringify({ user: 'rest', groups: ['system:kcp:admin', `system:kcp:apiexport:provider:${name}`] }),
          ],
        },
      });
    expect((await authorizer.authorize(request(through('things')))).reason).toBe('consumer');
    expect((await authorizer.authorize(request(through('others')))).decision).toBe('noOpinion');
  });

  test.each(['apis.kcp.io:binding:ann', 'apis.kcp.io:binding:team'])(
    'what it grants %s is decided by the consumer',
    async (subject) => {
      const { authorizer } = policy([subject], { export: anExport('own', true) });
      expect(await authorizer.authorize(request(user('ann')))).toEqual({ decision: 'allow', reason: 'consumer' });
    },
  );

  test('applies to a resource with an identity suffix', async () => {
    const { authorizer } = policy([], { export: anExport('own', true) });
    const attributes = request(user('ann'), { resource: 'widgets:own' });
    expect((await authorizer.authorize(attributes)).decision).toBe('noOpinion');
  });

  test('evaluates users of warrants', async () => {
    const extra = { 'authorization.kcp.io/warrant': ['{"user":"bob"}'] };
    const { authorizer, asked } = policy(['apis.kcp.io:binding:bob'], { export: anExport('own', true) });
    expect((await authorizer.authorize(request(user('ann', { extra })))).decision).toBe('allow');
    expect(asked.map(({ user: { name, extra: left } }) => [name, left])).toEqual([
      ['apis.kcp.io:binding:ann', {}],
      ['apis.kcp.io:binding:bob', {}],
    ]);
  });

  const authenticated = ['apis.kcp.io:binding:system:authenticated', 'apis.kcp.io:binding:system:cluster:consumer'];
  test.each([
    ['user', user('ann', { groups: ['team', 'system:authenticated'] })],
    ['service account', user('system:serviceaccount:ns:robot', { groups: ['system:authenticated'] })],
  ])('a %s that exists in the workspace of the consumer alone is authenticated, nothing more', async (_what, local) => {
    const extra = { 'authentication.kcp.io/scopes': ['cluster:consumer'] };
    const granted = [
      'apis.kcp.io:binding:ann',
      'apis.kcp.io:binding:team',
      'apis.kcp.io:binding:system:serviceaccounts',
    ];
    const { authorizer, asked } = policy(granted, { export: anExport('own', true) });
    expect((await authorizer.authorize(request({ ...local, extra }))).decision).toBe('noOpinion');
    expect(asked.map(({ user: { name, groups } }) => [name, groups])).toEqual([
      ['apis.kcp.io:binding:system:anonymous', authenticated],
    ]);
    const known = policy(['apis.kcp.io:binding:system:authenticated'], { export: anExport('own', true) });
    expect((await known.authorizer.authorize(request({ ...local, extra }))).decision).toBe('allow');
  });

  test('the token of a service account counts as its global name and as authenticated', async () => {
    const robot = user('system:serviceaccount:ns:robot', {
      groups: ['system:serviceaccounts', 'system:authenticated'],
      extra: { 'authentication.kcp.io/cluster-name': ['consumer'] },
    });
    const { authorizer, asked } = policy([], { export: anExport('own', true) });
    expect((await authorizer.authorize(request(robot))).decision).toBe('noOpinion');
    const global = 'apis.kcp.io:binding:system:kcp:serviceaccount:consumer:ns:robot';
    expect(asked.map(({ user: { name, groups } }) => [name, groups])).toEqual([
      [global, ['apis.kcp.io:binding:system:authenticated']],
      ['apis.kcp.io:binding:system:anonymous', authenticated],
      [global, ['apis.kcp.io:binding:system:authenticated']],
    ]);
  });

  test('treats a user that is out of scope as anonymous', async () => {
    const extra = { 'authentication.kcp.io/scopes': ['cluster:elsewhere'] };
    const { authorizer, asked } = policy(['apis.kcp.io:binding:ann'], { export: anExport('own', true) });
    expect((await authorizer.authorize(request(user('ann', { extra })))).decision).toBe('noOpinion');
    expect(asked.map(({ user: { name } }) => name)).toEqual(['apis.kcp.io:binding:system:anonymous']);
  });

  test.each([
    ['an export without one', request(user('ann')), { export: anExport('own', false) }],
    ['another resource', request(user('ann'), { resource: 'gadgets' }), { export: anExport('own', true) }],
    [
      'another workspace',
      request(user('ann'), { cluster: 'other' as LogicalClusterName }),
      { export: anExport('own', true) },
    ],
    ['a deep review', request(user('ann'), { deep: true }), { export: anExport('own', true) }],
    ['a path', request(user('ann'), { isResourceRequest: false, path: '/api' }), { export: anExport('own', true) }],
  ])('does not apply to %s', async (_name, attributes, state) => {
    expect((await policy([], state).authorizer.authorize(attributes)).decision).toBe('allow');
  });

  describe('when the export is deleted', () => {
    const decide = async (state: { export?: APIExport; definition?: KubeObject }): Promise<string> =>
      (await policy([], state).authorizer.authorize(request(user('ann')))).decision;

    test('it stays in force', async () => {
      expect(await decide({ definition: definition('other,own') })).toBe('noOpinion');
    });
    test('another export of the same name does not replace it', async () => {
      expect(await decide({ export: anExport('new', false), definition: definition('own') })).toBe('noOpinion');
    });
    test('an API without a policy stays usable', async () => {
      expect(await decide({ definition: definition() })).toBe('allow');
      expect(await decide({ definition: definition('other') })).toBe('allow');
    });
    test('the RBAC of the provider still applies', async () => {
      const { authorizer } = policy(['apis.kcp.io:binding:ann'], { definition: definition('own') });
      expect((await authorizer.authorize(request(user('ann')))).decision).toBe('allow');
    });
  });
});
