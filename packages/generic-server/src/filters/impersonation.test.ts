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
    authorize: ({ verb, resource, subresource, name }: AuthorizationAttributes) => {
      if (verb !== 'impersonate') return Promise.resolve({ decision: 'noOpinion' as const, reason: '' });
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
    info: { cluster: 'here', verb: 'get', isResourceRequest: false, path: '/api' },
    exchange: { headers, setHeader: () => undefined },
  } as unknown as RequestContext;
  const filter = withImpersonation({ authorizer })(() => Promise.resolve());
  await expect(filter(context)).rejects.toThrow('User "alice" cannot impersonate-on:user-info:get path "/api"');
  expect(asked.filter((text) => !text.includes('{'))).toEqual([
    'users bob',
    'users outer',
    'groups g',
    'userextras/team red',
    'users inner',
  ]);
});

describe('constrained impersonation', () => {
  /** Plays a request of alice to list config maps in a namespace, with what she is allowed: `<verb> <group>/<resource> <name>`. */
  const play = async (headers: Record<string, string>, allowed: readonly string[]): Promise<string> => {
    const context = {
      user: { name: 'alice', uid: '', groups: [], extra: {} },
      info: {
        cluster: 'here',
        verb: 'list',
        isResourceRequest: true,
        group: '',
        version: 'v1',
        namespace: 'ns',
        resource: 'configmaps',
        subresource: '',
        name: '',
        path: '',
        query: new URLSearchParams(),
      },
      exchange: { headers, setHeader: () => undefined },
    } as unknown as RequestContext;
    const authorizer = {
      authorize: ({ verb, group, resource, name }: AuthorizationAttributes) =>
        Promise.resolve({
          decision: allowed.includes(`${verb} ${group}/${resource} ${name}`)
            ? ('allow' as const)
            : ('noOpinion' as const),
          reason: '',
        }),
    };
    await withImpersonation({ authorizer })(() => Promise.resolve())(context);
    return context.user.name;
  };
  const bob = { 'impersonate-user': 'bob' };
  const on = 'impersonate-on:user-info:list /configmaps ';
  const account = { 'impersonate-user': 'system:serviceaccount:ns:sa' };

  test('needs the right to do this as another, and to be this other', async () => {
    await expect(play(bob, [])).rejects.toThrow(
      'User "alice" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ns"',
    );
    await expect(play(bob, [on])).rejects.toThrow(
      'User "alice" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope',
    );
    expect(await play(bob, [on, 'impersonate:user-info authentication.k8s.io/users bob'])).toBe('bob');
    expect(await play(bob, ['impersonate /users bob'])).toBe('bob');
  });

  test('service accounts have a mode of their own, by their name alone', async () => {
    const allowed = [
      'impersonate-on:serviceaccount:list /configmaps ',
      'impersonate:serviceaccount authentication.k8s.io/serviceaccounts sa',
    ];
    expect(await play(account, allowed)).toBe('system:serviceaccount:ns:sa');
    await expect(play({ ...account, 'impersonate-group': 'g' }, allowed)).rejects.toThrow(
      'cannot impersonate resource',
    );
  });

  test('cannot give the group system:masters', async () => {
    const all = [
      on,
      'impersonate:user-info authentication.k8s.io/users bob',
      'impersonate:user-info authentication.k8s.io/groups system:masters',
    ];
    await expect(play({ ...bob, 'impersonate-group': 'system:masters' }, all)).rejects.toThrow(
      'impersonating the system:masters group is not allowed',
    );
  });
});
