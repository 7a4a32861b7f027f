import { describe, expect, test } from '@jest/globals';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import type { RequestContext } from '../request/request-context.ts';
import { impersonatedUser, withImpersonation } from './impersonation.ts';

/** A header as Node provides it: UTF-8 decoded as Latin-1. */
const asRead = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('the impersonated user', () => {
  test('may have a non-ASCII name', () => {
    const wanted = impersonatedUser({
      'impersonate-user': asRead('Jürgen 猫'),
      'impersonate-group': [asRead('größte'), 'team'],
      'impersonate-extra-place': asRead('Zürich'),
    });
    expect(wanted?.user).toMatchObject({
      name: 'Jürgen 猫',
      groups: ['größte', 'team', 'system:authenticated'],
      extra: { place: ['Zürich'] },
    });
  });
});

test('a warrant needs the right to impersonate its user, its groups and extra fields, at every depth', async () => {
  const asked: string[] = [];
  const authorizer = {
    authorize: ({ resource, subresource, name }: AuthorizationAttributes) => {
      asked.push(`${resource}${subresource === '' ? '' : `/${subresource}`} ${name}`);
      return Promise.resolve({ decision: name === 'inner' ? ('noOpinion' as const) : ('allow' as const), reason: '' });
    },
  };
  const inner = JSON.stringify({ user: 'inner' });
  const extra = { 'authorization.kcp.io/warrant': [inner], team: ['red'] };
  const headers = {
    'impersonate-user': 'bob',
    'impersonate-extra-authorization.kcp.io%2fwarrant': JSON.stringify({ user: 'outer', groups: ['g'], extra }),
  };
  const context = {
    user: { name: 'alice', uid: '', groups: [], extra: {} },
    info: { cluster: 'here' },
    exchange: { headers, setHeader: () => undefined },
  } as unknown as RequestContext;
  const filter = withImpersonation({ authorizer })(() => Promise.resolve());
  await expect(filter(context)).rejects.toThrow('User "alice" cannot impersonate resource "users"');
  expect(asked.filter((text) => !text.includes('{'))).toEqual([
    'users bob',
    'users outer',
    'groups g',
    'userextras/team red',
    'users inner',
  ]);
});
