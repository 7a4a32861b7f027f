import { expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { warrantExtra, type AuthorizationAttributes } from '@multiplane/apiserver';
import { EffectiveUsersAuthorizer } from './effective-users-authorizer.ts';

/** Who is asked about, in order, and what comes of it when one of them is allowed. */
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

test('everybody whom a user counts as is asked about until one is allowed', async () => {
  const ann = user('ann', { [warrantExtra]: ['{"user":"bob"}', '{"user":"eve"}'] });
  expect(await asked(ann, 'bob')).toEqual([['ann', 'bob'], 'allow']);
  expect(await asked(ann, 'nobody')).toEqual([['ann', 'bob', 'eve'], 'noOpinion']);
});

test('somebody out of scope is a stranger', async () => {
  const ann = user('ann', { 'authentication.kcp.io/scopes': ['cluster:other'] });
  expect(await asked(ann, 'ann')).toEqual([['system:anonymous'], 'noOpinion']);
});
