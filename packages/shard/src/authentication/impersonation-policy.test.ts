import { describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { RequestContext } from '@multiplane/apiserver';
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
  ])('its admin does not become %s', (group) => {
    expect(() => impersonationPolicy(context, user('tenant'), user('x', ['a', group]))).toThrow(refused);
  });

  test('whoever is in a special group may name that one, and no other', () => {
    const admin = user('admin', ['system:kcp:admin']);
    expect(impersonationPolicy(context, admin, user('x', ['system:kcp:admin'])).groups).toEqual(['system:kcp:admin']);
    expect(() => impersonationPolicy(context, admin, user('x', ['system:masters']))).toThrow(refused);
  });

  test.each(['authorization.kcp.io/warrant', 'authentication.kcp.io/scopes', 'authentication.kcp.io/cluster-name'])(
    '%s cannot be brought along',
    (key) => {
      expect(() => impersonationPolicy(context, user('tenant'), user('x', [], { [key]: ['anything'] }))).toThrow(
        refused,
      );
    },
  );

  test('the impersonated user counts in this workspace alone, and stays in the scopes of who asked', () => {
    const { extra } = impersonationPolicy(
      context,
      user('tenant', [], { 'authentication.kcp.io/scopes': ['cluster:there'] }),
      user('x'),
    );
    expect(extra['authentication.kcp.io/scopes']).toEqual(['cluster:there', 'cluster:here']);
  });

  test('masters may do everything', () => {
    const wanted = user('x', ['system:masters'], { 'authorization.kcp.io/warrant': ['{}'] });
    expect(impersonationPolicy(context, user('root', ['system:masters']), wanted)).toBe(wanted);
  });
});
