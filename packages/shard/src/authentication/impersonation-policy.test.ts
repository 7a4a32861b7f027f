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

  test.each(['authorization.kcp.io/warrant', 'authentication.kcp.io/cluster-name'])(
    '%s cannot be brought along',
    (key) => {
      expect(() => impersonationPolicy(context, user('tenant'), user('x', [], { [key]: ['anything'] }))).toThrow(
        refused,
      );
    },
  );

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
