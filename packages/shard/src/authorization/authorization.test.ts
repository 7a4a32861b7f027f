import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import {
  AnonymizingAuthorizer,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/generic-server';
import { effectiveUsers } from './effective-users.ts';
import { RequiredGroupsAuthorizer } from './required-groups.ts';
import { SystemCrdAuthorizer } from './system-crd-authorizer.ts';
import { WorkspaceContentAuthorizer } from './workspace-content.ts';

const here = 'here' as LogicalClusterName;
const user = (name: string, more: Partial<UserInfo> = {}): UserInfo => ({
  name,
  uid: '',
  groups: ['system:authenticated'],
  extra: {},
  ...more,
});
const names = (who: UserInfo): string[] => effectiveUsers(who, here).map(({ name }) => name);

describe('effective users', () => {
  test('of a plain user are the user itself', () => {
    expect(names(user('alice'))).toEqual(['alice']);
  });

  test('of a service account are the account in its own cluster, and its global name in others', () => {
    const robot = (cluster: string): UserInfo =>
      user('system:serviceaccount:ns:robot', { extra: { 'authentication.kcp.io/cluster-name': [cluster] } });
    expect(names(robot('here'))).toEqual(['system:serviceaccount:ns:robot', 'system:kcp:serviceaccount:here:ns:robot']);
    const abroad = effectiveUsers(robot('there'), here);
    expect(abroad.map(({ name }) => name)).toEqual(['system:kcp:serviceaccount:there:ns:robot', 'system:anonymous']);
    expect(abroad.at(-1)?.groups).toEqual(['system:authenticated', 'system:cluster:there']);
  });

  test('respect scopes: all values apply, commas mean or, unknown scope types never match', () => {
    const scoped = (...scopes: string[]): string[] =>
      names(user('alice', { extra: { 'authentication.kcp.io/scopes': scopes } }));
    expect(scoped('cluster:here')).toEqual(['alice']);
    expect(scoped('cluster:there,cluster:here')).toEqual(['alice']);
    expect(scoped('cluster:here', 'cluster:there')).toEqual(['system:anonymous']);
    expect(scoped('planet:here')).toEqual(['system:anonymous']);
  });

  test('include the users of warrants; invalid warrants are ignored', () => {
    const warranted = (...warrants: string[]): string[] =>
      names(user('alice', { extra: { 'authorization.kcp.io/warrant': warrants } }));
    expect(warranted('{"user":"bob"}', 'no json', '{"user":"system:serviceaccount:a:b"}', '[]')).toEqual([
      'alice',
      'bob',
    ]);
    const nested = (depth: number): string =>
      depth === 0
        ? '{"user":"deep"}'
        : JSON.stringify({ user: `u${depth}`, extra: { 'authorization.kcp.io/warrant': [nested(depth - 1)] } });
    expect(warranted(nested(20)).length).toBeLessThan(12);
  });
});

class Answers implements Authorizer {
  readonly asked: AuthorizationAttributes[] = [];
  readonly #answer: (attributes: AuthorizationAttributes) => AuthorizationResult['decision'];
  constructor(answer: (attributes: AuthorizationAttributes) => AuthorizationResult['decision']) {
    this.#answer = answer;
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    this.asked.push(attributes);
    return Promise.resolve({ decision: this.#answer(attributes), reason: 'because' });
  }
}

const request = (who: UserInfo, cluster: string | undefined): AuthorizationAttributes => ({
  user: who,
  cluster: cluster as LogicalClusterName | undefined,
  verb: 'get',
  isResourceRequest: true,
  group: '',
  version: 'v1',
  namespace: 'default',
  resource: 'secrets',
  subresource: '',
  name: 'x',
  path: '',
});

describe('the workspace content authorizer', () => {
  const cluster = (phase: string): KubeObject => ({
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster' },
    status: { phase },
  });
  const content = (
    phase: string | undefined,
    mayEnter: boolean,
    initializer?: UserInfo,
  ): { authorizer: Authorizer; delegate: Answers } => {
    const delegate = new Answers(() => 'allow');
    const authorizer = new WorkspaceContentAuthorizer({
      rbac: new Answers(({ verb }) => (mayEnter && verb === 'access' ? 'allow' : 'noOpinion')),
      delegate,
      logicalCluster: () => (phase === undefined ? undefined : cluster(phase)),
      lifecycleRules: (who) => (who === initializer ? [] : undefined),
    });
    return { authorizer, delegate };
  };

  test.each([
    ['Ready', true, 'allow'],
    ['Ready', false, 'noOpinion'],
    ['Scheduling', true, 'noOpinion'],
    [undefined, true, 'deny'],
  ] as const)('phase %s, access %s: %s', async (phase, mayEnter, decision) => {
    expect((await content(phase, mayEnter).authorizer.authorize(request(user('alice'), 'here'))).decision).toBe(
      decision,
    );
  });

  test('admits its own service accounts without access, but not those of other workspaces', async () => {
    const robot = (home: string): UserInfo =>
      user('system:serviceaccount:ns:robot', { extra: { 'authentication.kcp.io/cluster-name': [home] } });
    expect((await content('Ready', false).authorizer.authorize(request(robot('here'), 'here'))).decision).toBe('allow');
    expect((await content('Ready', false).authorizer.authorize(request(robot('there'), 'here'))).decision).toBe(
      'noOpinion',
    );
  });

  test('denies wildcard requests and system clusters', async () => {
    const { authorizer, delegate } = content('Ready', true);
    for (const target of ['*', 'system:admin'])
      expect((await authorizer.authorize(request(user('alice'), target))).decision).toBe('noOpinion');
    expect(delegate.asked).toEqual([]);
  });

  test('anonymizes the reason of a refusal', async () => {
    const missing = new AnonymizingAuthorizer({ delegate: content(undefined, true).authorizer });
    const forbidden = new AnonymizingAuthorizer({ delegate: content('Ready', false).authorizer });
    expect((await missing.authorize(request(user('alice'), 'here'))).reason).toBe('access denied');
    expect((await forbidden.authorize(request(user('alice'), 'here'))).reason).toBe('access denied');
  });

  test('admits controllers of the workspace type, and applies RBAC to them', async () => {
    const initializer = user('ann', { groups: ['system:kcp:initializer:root:mine', 'system:authenticated'] });
    const { authorizer, delegate } = content('Initializing', false, initializer);
    expect((await authorizer.authorize(request(initializer, 'here'))).decision).toBe('allow');
    expect(delegate.asked).toHaveLength(1);
    expect((await authorizer.authorize(request(user('bob'), 'here'))).decision).toBe('noOpinion');
  });

  test('does not apply to deep reviews', async () => {
    const { authorizer } = content('Ready', false);
    expect((await authorizer.authorize({ ...request(user('alice'), 'here'), deep: true })).decision).toBe('allow');
  });
});

describe('required groups', () => {
  const withGroups = (required: string | undefined): RequiredGroupsAuthorizer =>
    new RequiredGroupsAuthorizer({
      delegate: new Answers(() => 'allow'),
      logicalCluster: () => ({
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: required === undefined ? {} : { annotations: { 'authorization.kcp.io/required-groups': required } },
      }),
    });
  const decide = async (required: string | undefined, groups: string[], name = 'alice'): Promise<string> =>
    (await withGroups(required).authorize(request(user(name, { groups }), 'here'))).decision;

  test('admit all users if there are none', async () => {
    expect(await decide(undefined, ['system:authenticated'])).toBe('allow');
  });

  test.each([
    [['a', 'b'], 'allow'],
    [['a'], 'deny'],
    [['c'], 'allow'],
    [['system:kcp:admin'], 'allow'],
    [['system:kcp:external-logical-cluster-admin'], 'allow'],
    [[], 'deny'],
  ])('members of %j for a,b;c: %s', async (groups, decision) => {
    expect(await decide('a,b;c', groups)).toBe(decision);
  });

  test('do not apply to service accounts', async () => {
    expect(await decide('a', [], 'system:serviceaccount:ns:robot')).toBe('allow');
  });
});

test('denies access to the status of APIBindings and APIExports', async () => {
  const authorizer = new SystemCrdAuthorizer({ delegate: new Answers(() => 'allow') });
  const about = (resource: string, subresource: string): AuthorizationAttributes => ({
    ...request(user('alice'), 'here'),
    group: 'apis.kcp.io',
    resource,
    subresource,
  });
  expect((await authorizer.authorize(about('apibindings', 'status'))).decision).toBe('deny');
  expect((await authorizer.authorize(about('apibindings:some-identity', 'status'))).decision).toBe('deny');
  expect((await authorizer.authorize(about('apiexports', 'status'))).decision).toBe('deny');
  expect((await authorizer.authorize(about('apibindings', ''))).decision).toBe('allow');
});

test('denies writes of endpoints to the owner of an endpoint slice, unlike kcp, and allows them to shards', async () => {
  const authorizer = new SystemCrdAuthorizer({ delegate: new Answers(() => 'allow') });
  const decide = async (verb: string, subresource: string, groups: readonly string[] = []): Promise<string> => {
    const attributes = {
      ...request(user('alice', { groups }), 'here'),
      group: 'apis.kcp.io',
      resource: 'apiexportendpointslices',
      verb,
      subresource,
    };
    return (await authorizer.authorize(attributes)).decision;
  };
  for (const verb of ['update', 'patch']) expect(await decide(verb, 'status')).toBe('deny');
  expect(await decide('patch', 'status', ['system:kcp:external-logical-cluster-admin'])).toBe('allow');
  expect(await decide('get', 'status')).toBe('allow');
  expect(await decide('patch', '')).toBe('allow');
});
