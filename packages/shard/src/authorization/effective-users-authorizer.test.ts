import { expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { type AuthorizationAttributes, warrantExtra } from '@multiplane/generic-server';
import { effectiveUsers } from './effective-users.ts';
import { EffectiveUsersAuthorizer } from './effective-users-authorizer.ts';

/** The users that the delegate is called for, in order, and the decision when one of them is allowed. */
async function asked(user: UserInfo, allowed: string): Promise<[string[], string]> {
  const names: string[] = [];
  const authorizer = new EffectiveUsersAuthorizer({
    delegate: {
      authorize: async (attributes) => {
        names.push(attributes.user.name);
        return { decision: attributes.user.name === allowed ? 'allow' : 'noOpinion', reason: '' };
      },
    },
  });
  const attributes = { user, cluster: 'c1' as LogicalClusterName } as AuthorizationAttributes;
  return [names, (await authorizer.authorize(attributes)).decision];
}
const user = (name: string, extra: UserInfo['extra'] = {}): UserInfo => ({
  name,
  uid: '',
  groups: ['system:authenticated'],
  extra,
});

test('calls the delegate for each effective user until one is allowed', async () => {
  const ann = user('ann', { [warrantExtra]: ['{"user":"bob"}', '{"user":"eve"}'] });
  expect(await asked(ann, 'bob')).toEqual([['ann', 'bob'], 'allow']);
  expect(await asked(ann, 'nobody')).toEqual([['ann', 'bob', 'eve'], 'noOpinion']);
});

test('a user out of scope gets the groups of only those clusters that all its scopes name', () => {
  const groupsOf = (...scopes: string[]): readonly string[] =>
    effectiveUsers(user('ann', { 'authentication.kcp.io/scopes': scopes }), 'c1' as LogicalClusterName)[0]?.groups ??
    [];
  expect(groupsOf('cluster:a,cluster:b')).toEqual(['system:authenticated', 'system:cluster:a', 'system:cluster:b']);
  expect(groupsOf('cluster:a', 'cluster:a,cluster:b')).toEqual(['system:authenticated', 'system:cluster:a']);
  expect(groupsOf('cluster:a', 'cluster:b')).toEqual(['system:authenticated']);
});

test('calls the delegate for an anonymous user if the user is out of scope', async () => {
  const ann = user('ann', { 'authentication.kcp.io/scopes': ['cluster:other'] });
  expect(await asked(ann, 'ann')).toEqual([['system:anonymous'], 'noOpinion']);
});
