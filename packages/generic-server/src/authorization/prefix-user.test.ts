import { describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import { prefixUser } from './prefix-user.ts';
import { parseWarrant } from './warrants.ts';

const user = (name: string, more: Partial<UserInfo> = {}): UserInfo => ({
  name,
  uid: '',
  groups: ['system:authenticated'],
  extra: {},
  ...more,
});
const robot = (...clusters: string[]): UserInfo =>
  user('system:serviceaccount:ns:robot', { extra: { 'authentication.kcp.io/cluster-name': clusters } });

describe('users in maximal permission policies', () => {
  test('name and every group have the prefix', () => {
    expect(
      prefixUser(user('ann', { uid: '7', groups: ['team', 'system:authenticated'], extra: { a: ['b'] } })),
    ).toEqual({
      name: 'apis.kcp.io:binding:ann',
      uid: '7',
      groups: ['apis.kcp.io:binding:team', 'apis.kcp.io:binding:system:authenticated'],
      extra: { a: ['b'] },
    });
  });

  test('a service account has its global name', () => {
    const { name, extra } = prefixUser(robot('west'));
    expect(name).toBe('apis.kcp.io:binding:system:kcp:serviceaccount:west:ns:robot');
    expect(extra).toEqual({});
  });

  test.each([[[]], [['a', 'b']]])('a service account of clusters %j is anonymous', (clusters) => {
    expect(prefixUser(robot(...clusters))).toEqual({
      name: 'apis.kcp.io:binding:system:anonymous',
      uid: '',
      groups: ['apis.kcp.io:binding:system:unauthenticated'],
      extra: {},
    });
  });

  test('scopes of a user are kept', () => {
    const extra = { 'authentication.kcp.io/scopes': ['cluster:west'] };
    expect(prefixUser(user('ann', { extra })).extra).toEqual(extra);
  });

  test('warrants are prefixed at every level, invalid ones are dropped', () => {
    const inner = JSON.stringify({ user: 'eve', groups: ['g'] });
    const outer = JSON.stringify({ user: 'bob', extra: { 'authorization.kcp.io/warrant': [inner] } });
    const prefixed = prefixUser(user('ann', { extra: { 'authorization.kcp.io/warrant': [outer, 'no warrant'] } }));
    const warrants = prefixed.extra['authorization.kcp.io/warrant'] ?? [];
    expect(warrants).toHaveLength(1);
    const bob = parseWarrant(warrants[0] ?? '');
    expect(bob?.name).toBe('apis.kcp.io:binding:bob');
    expect(parseWarrant(bob?.extra['authorization.kcp.io/warrant']?.[0] ?? '')).toEqual({
      name: 'apis.kcp.io:binding:eve',
      uid: '',
      groups: ['apis.kcp.io:binding:g'],
      extra: {},
    });
  });
});
