import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { bindsPolicySubjects, groupsOfRules, desiredReplicateAnnotation } from './replicate-annotation.ts';

const roleWith = (mark?: string): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'r', ...(mark === undefined ? {} : { annotations: { 'internal.kcp.io/replicate': mark } }) },
});

describe('rules that other shards need', () => {
  test.each([
    ['tenancy.kcp.io', { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['use'] }],
    ['tenancy.kcp.io', { apiGroups: ['tenancy.kcp.io'], resources: ['*'], verbs: ['terminate'] }],
    ['', { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['get', 'list'] }],
    ['', { apiGroups: ['tenancy.kcp.io'], resources: ['workspaces'], verbs: ['*'] }],
    ['apis.kcp.io', { apiGroups: ['apis.kcp.io'], resources: ['apiexports'], verbs: ['bind'] }],
    ['apis.kcp.io', { apiGroups: ['*'], resources: ['apiexports/content'], verbs: ['get'] }],
    ['', { apiGroups: ['apis.kcp.io'], resources: ['apiexports'], verbs: ['get'] }],
    ['apis.kcp.io,tenancy.kcp.io', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    ['', { nonResourceURLs: ['/healthz'], verbs: ['access'] }],
    ['', { nonResourceURLs: ['/'], verbs: ['get'] }],
    ['core.kcp.io', { nonResourceURLs: ['/'], verbs: ['access'] }],
    ['core.kcp.io', { nonResourceURLs: ['*'], verbs: ['*'] }],
  ])('%s of %j', (expected, rule) => {
    expect([...groupsOfRules([rule], true)].sort().join()).toBe(expected);
  });

  test('include access only in a replicated logical cluster', () => {
    expect(groupsOfRules([{ nonResourceURLs: ['/'], verbs: ['access'] }], false).size).toBe(0);
  });
});

test('subjects of a maximal permission policy are recognized by their prefix', () => {
  const binding = (kind: string, name: string): KubeObject & { subjects: { kind: string; name: string }[] } => ({
    ...roleWith(),
    subjects: [{ kind, name }],
  });
  expect(bindsPolicySubjects(binding('Group', 'apis.kcp.io:binding:system:authenticated'))).toBe(true);
  expect(bindsPolicySubjects(binding('User', 'apis.kcp.io:binding:me'))).toBe(true);
  expect(bindsPolicySubjects(binding('ServiceAccount', 'apis.kcp.io:binding:me'))).toBe(false);
  expect(bindsPolicySubjects(binding('User', 'me'))).toBe(false);
});

test('the annotation is sorted, drops obsolete groups and keeps entries of other writers', () => {
  expect(desiredReplicateAnnotation(roleWith(), new Set(['tenancy.kcp.io', 'apis.kcp.io']))).toBe(
    'apis.kcp.io,tenancy.kcp.io',
  );
  expect(desiredReplicateAnnotation(roleWith('tenancy.kcp.io,mine'), new Set(['core.kcp.io']))).toBe(
    'core.kcp.io,mine',
  );
  expect(desiredReplicateAnnotation(roleWith('apis.kcp.io'), new Set())).toBe('');
});
