import { describe, expect, test } from '@jest/globals';
import type { AuthorizationAttributes } from './authorizer.ts';
import { ruleAllows, ruleText, uncoveredRules, type PolicyRule } from './rbac-rules.ts';

const user = { name: 'u', uid: '', groups: [], extra: {} };
const request = (change: Partial<AuthorizationAttributes>): AuthorizationAttributes => ({
  user,
  cluster: undefined,
  verb: 'get',
  isResourceRequest: true,
  group: '',
  version: 'v1',
  namespace: 'ns',
  resource: 'configmaps',
  subresource: '',
  name: 'a',
  path: '',
  ...change,
});

describe('one rule', () => {
  const rule: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] };

  test.each([
    [{}, true],
    [{ verb: 'delete' }, false],
    [{ group: 'apps' }, false],
    [{ resource: 'secrets' }, false],
    [{ subresource: 'status' }, false],
    [{ isResourceRequest: false, path: '/configmaps' }, false],
  ] as const)('%j is %s', (change, allowed) => {
    expect(ruleAllows(rule, request(change))).toBe(allowed);
  });

  test('* covers subresources, */status that subresource of everything, and configmaps/* is no wildcard', () => {
    const of = (resources: string[]): PolicyRule => ({ verbs: ['*'], apiGroups: ['*'], resources });
    expect(ruleAllows(of(['*']), request({ subresource: 'status' }))).toBe(true);
    expect(ruleAllows(of(['*/status']), request({ subresource: 'status' }))).toBe(true);
    expect(ruleAllows(of(['*/status']), request({}))).toBe(false);
    expect(ruleAllows(of(['configmaps/*']), request({ subresource: 'status' }))).toBe(false);
  });

  test('a rule with names never matches a request without one', () => {
    const named = { ...rule, resourceNames: ['a'] };
    expect(ruleAllows(named, request({ name: 'a' }))).toBe(true);
    expect(ruleAllows(named, request({ name: '', verb: 'list' }))).toBe(false);
  });

  test('paths match exactly or by a trailing star', () => {
    const paths: PolicyRule = { verbs: ['get'], nonResourceURLs: ['/healthz', '/apis/*'] };
    const path = (text: string): boolean => ruleAllows(paths, request({ isResourceRequest: false, path: text }));
    expect([path('/healthz'), path('/healthz/ping'), path('/apis/x/y'), path('/apis')]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe('uncovered rules', () => {
  test('are grouped by group, resource and name', () => {
    const owned: PolicyRule[] = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] }];
    const wanted: PolicyRule[] = [{ verbs: ['get', 'delete'], apiGroups: [''], resources: ['secrets', 'configmaps'] }];
    expect(uncoveredRules(owned, wanted).map(ruleText)).toEqual([
      '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ]);
  });

  test('name a verb as often as it is missing, and each verb on a URL', () => {
    const rule: PolicyRule = { verbs: ['get', 'list'], apiGroups: ['', ''], resources: ['secrets'] };
    const urls: PolicyRule = { verbs: ['post', 'get'], nonResourceURLs: ['/x', '/x'] };
    expect(uncoveredRules([], [rule, rule, urls]).map(ruleText)).toEqual([
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "get" "list" "get" "list" "get" "list"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
      '{NonResourceURLs:["/x"], Verbs:["post"]}',
    ]);
  });

  test('a wildcard is only covered by a wildcard', () => {
    const all: PolicyRule[] = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    expect(uncoveredRules([{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }], all).map(ruleText)).toEqual([
      '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
    ]);
    expect(uncoveredRules(all, [{ verbs: ['x'], apiGroups: ['y'], resources: ['z'], resourceNames: ['n'] }])).toEqual(
      [],
    );
  });

  test('a rule for one name does not cover a rule for all names', () => {
    const owned: PolicyRule[] = [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a'] }];
    expect(uncoveredRules(owned, [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }])).toHaveLength(1);
    expect(
      uncoveredRules(owned, [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a'] }]),
    ).toEqual([]);
  });
});
