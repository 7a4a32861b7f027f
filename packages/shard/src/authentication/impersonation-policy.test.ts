import { describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { RequestContext } from '@multiplane/generic-server';
import { impersonationPolicy } from './impersonation-policy.ts';

const context = { info: { cluster: 'here' } } as RequestContext;
const user = (name: string, groups: string[] = [], extra: UserInfo['extra'] = {}): UserInfo => ({
  name,
  uid: '',
  groups,
  extra,
});
const refused = 'impersonation is not allowed for the requestor';

describe('impersonation in a workspace', () => {
  test.each([
    'system:masters',
    'system:kcp:admin',
    'system:kcp:logical-cluster-admin',
    'system:kcp:external-logical-cluster-admin',
    'system:kcp:tenancy:workspace-bootstrapper',
    'system:kcp:initializer:root:universal',
    'system:kcp:apiexport:abc:things',
  ])('the admin cannot impersonate the group %s', (group) => {
    expect(() => impersonationPolicy(context, user('tenant'), user('x', ['a', group]))).toThrow(refused);
  });

  test('a member of a privileged group can impersonate that group and no other', () => {
    const admin = user('admin', ['system:kcp:admin']);
    expect(impersonationPolicy(context, admin, user('x', ['system:kcp:admin'])).groups).toEqual(['system:kcp:admin']);
    expect(() => impersonationPolicy(context, admin, user('x', ['system:masters']))).toThrow(refused);
  });

  test.each(['authentication.kcp.io/cluster-name', 'experimental.authorization.kcp.io/warrant'])(
    '%s cannot be brought along',
    (key) => {
      expect(() => impersonationPolicy(context, user('tenant'), user('x', [], { [key]: ['anything'] }))).toThrow(
        refused,
      );
    },
  );

  describe('the logical cluster of a service account', () => {
    const name = 'system:serviceaccount:default:default';
    const account = (cluster: string): UserInfo => user(name, [], { 'authentication.kcp.io/cluster-name': [cluster] });

    test('may be that of the request', () => {
      const { extra } = impersonationPolicy(context, user('tenant'), account('here'));
      expect(extra).toMatchObject({ 'authentication.kcp.io/cluster-name': ['here'] });
      expect(() => impersonationPolicy(context, user('tenant'), account('other'))).toThrow(refused);
      const everywhere = { info: { cluster: '*' } } as RequestContext;
      expect(() => impersonationPolicy(everywhere, user('tenant'), account('here'))).toThrow(refused);
    });

    test('may be any for a requester with all rights in all of them', () => {
      const admin = user('admin', ['system:kcp:admin']);
      expect(impersonationPolicy(context, admin, account('other')).name).toBe(name);
      const scoped = user('admin', ['system:kcp:admin'], { 'authentication.kcp.io/scopes': ['cluster:here'] });
      expect(() => impersonationPolicy(context, scoped, account('other'))).toThrow(refused);
    });
  });

  describe('warrants', () => {
    const warrant = 'authorization.kcp.io/warrant';
    const scopes = 'authentication.kcp.io/scopes';
    const impersonate = (value: object, where: RequestContext = context): UserInfo =>
      impersonationPolicy(where, user('tenant'), user('x', [], { [warrant]: [JSON.stringify(value)] }));

    test('are limited to the workspace, at every depth', () => {
      const inner = JSON.stringify({ user: 'z' });
      const { extra } = impersonate({ user: 'y', groups: ['g'], extra: { [warrant]: [inner] } });
      const outer = JSON.parse(extra[warrant]?.[0] ?? '') as { user: string; extra: Record<string, string[]> };
      expect(outer).toMatchObject({ user: 'y', groups: ['g'], extra: { [scopes]: ['cluster:here'] } });
      expect(JSON.parse(outer.extra[warrant]?.[0] ?? '')).toEqual({ user: 'z', extra: { [scopes]: ['cluster:here'] } });
    });

    test.each([
      { user: 'y', groups: ['system:masters'] },
      { user: 'y', groups: ['system:kcp:admin'] },
      { user: 'y', extra: { 'authentication.kcp.io/cluster-name': ['other'] } },
      { user: 'y', extra: { [warrant]: [JSON.stringify({ user: 'z', groups: ['system:masters'] })] } },
    ])('cannot carry more than the requester may impersonate: %j', (value) => {
      expect(() => impersonate(value)).toThrow(refused);
    });

    test('are refused over all logical clusters, and dropped if they cannot be read', () => {
      expect(() => impersonate({ user: 'y' }, { info: { cluster: '*' } } as RequestContext)).toThrow(refused);
      expect(impersonate({ user: 'system:serviceaccount:ns:name' }).extra[warrant]).toEqual([]);
    });
  });

  test('scopes the impersonated user to the workspace and to the scopes of the requester', () => {
    const { extra } = impersonationPolicy(
      context,
      user('tenant', [], { 'authentication.kcp.io/scopes': ['cluster:there'] }),
      user('x'),
    );
    expect(extra['authentication.kcp.io/scopes']).toEqual(['cluster:there', 'cluster:here']);
  });

  test('adds requested scopes to those of the requester and the workspace', () => {
    const { extra } = impersonationPolicy(
      context,
      user('tenant', [], { 'authentication.kcp.io/scopes': ['cluster:there,cluster:here'] }),
      user('x', [], { 'authentication.kcp.io/scopes': ['cluster:other'] }),
    );
    expect(extra['authentication.kcp.io/scopes']).toEqual([
      'cluster:there,cluster:here',
      'cluster:other',
      'cluster:here',
    ]);
  });

  test('does not restrict system:masters', () => {
    const wanted = user('x', ['system:masters'], { 'authorization.kcp.io/warrant': ['{}'] });
    expect(impersonationPolicy(context, user('root', ['system:masters']), wanted)).toBe(wanted);
  });
});
