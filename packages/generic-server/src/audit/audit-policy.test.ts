import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import { AuditPolicy } from './audit-policy.ts';

const policyOf = (rules: string): AuditPolicy =>
  AuditPolicy.parse(`apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n${rules}`);
const asks = (more: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user: { name: 'ann', uid: '', groups: ['team', 'system:authenticated'], extra: {} },
  cluster: 'here' as LogicalClusterName,
  verb: 'get',
  isResourceRequest: true,
  group: '',
  version: 'v1',
  namespace: 'default',
  resource: 'secrets',
  subresource: '',
  name: 'x',
  path: '',
  ...more,
});

describe('the first rule that matches decides', () => {
  test.each([
    ['- {level: Metadata, users: [ann]}', asks(), 'Metadata'],
    ['- {level: Metadata, users: [bob]}', asks(), 'None'],
    ['- {level: Request, userGroups: [other, team]}', asks(), 'Request'],
    ['- {level: Request, verbs: [list]}\n- {level: Metadata}', asks(), 'Metadata'],
    ['- {level: Request, namespaces: [default]}', asks(), 'Request'],
    ['- {level: Request, namespaces: [""]}', asks({ namespace: '' }), 'Request'],
    ['- {level: Request, namespaces: [kube-system]}', asks(), 'None'],
    ['- {level: Request, resources: [{group: "", resources: [secrets]}]}', asks(), 'Request'],
    ['- {level: Request, resources: [{group: ""}]}', asks(), 'Request'],
    ['- {level: Request, resources: [{group: apps}]}', asks(), 'None'],
    ['- {level: Request, resources: [{resources: [secrets], resourceNames: [z]}]}', asks(), 'None'],
    ['- {level: Request, resources: [{resources: [pods]}]}', asks({ resource: 'pods', subresource: 'log' }), 'None'],
    [
      '- {level: Request, resources: [{resources: [pods/log]}]}',
      asks({ resource: 'pods', subresource: 'log' }),
      'Request',
    ],
    [
      '- {level: Request, resources: [{resources: ["*/log"]}]}',
      asks({ resource: 'pods', subresource: 'log' }),
      'Request',
    ],
    [
      '- {level: Request, resources: [{resources: ["pods/*"]}]}',
      asks({ resource: 'pods', subresource: 'log' }),
      'Request',
    ],
    [
      '- {level: Metadata, nonResourceURLs: ["/healthz*"]}',
      asks({ isResourceRequest: false, path: '/healthz/x' }),
      'Metadata',
    ],
    ['- {level: Metadata, nonResourceURLs: ["/healthz"]}', asks({ isResourceRequest: false, path: '/livez' }), 'None'],
    ['- {level: Metadata, nonResourceURLs: ["*"]}', asks(), 'None'],
  ] as const)('%s', (rules, attributes, level) => {
    expect(policyOf(rules).decide(attributes).level).toBe(level);
  });

  test('stages are omitted by the policy and by the rule', () => {
    const policy = AuditPolicy.parse(
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n- {level: Request, omitStages: [Panic]}',
    );
    const { omitStages, omitManagedFields } = policy.decide(asks());
    expect([...omitStages]).toEqual(['RequestReceived', 'Panic']);
    expect(omitManagedFields).toBe(true);
  });
});

test.each([
  ['[]', 'audit policy: must be an audit policy, got array'],
  [
    '{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: [{level: None}]}',
    'apiVersion: Unsupported value: "audit.k8s.io/v1beta1": supported values: "audit.k8s.io/v1"',
  ],
  ['{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, user: [x]}]}', 'unknown field "rules[0].user"'],
  ['{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{users: [x]}]}', 'rules[0].level: Required value'],
  [
    '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, users: x}]}',
    'rules[0].users: must be of type array, got string',
  ],
  ['{apiVersion: audit.k8s.io/v1, kind: Policy, rules: []}', 'loaded illegal policy with 0 rules'],
  ['{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}', 'rules[0].level: Unsupported value: "All"'],
  ['{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, omitStages: [x]}]}', 'rules[0].omitStages'],
  [
    '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [x]}]}',
    'rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: ["a*b"]}]}',
    'must begin with a slash',
  ],
  [
    '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, resources: [{resourceNames: [x]}]}]}',
    'using resourceNames requires at least one resource',
  ],
])('%s is refused', (text, message) => {
  expect(() => AuditPolicy.parse(text)).toThrow(message);
});
