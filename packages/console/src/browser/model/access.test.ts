import { describe, expect, test } from '@jest/globals';
import { askedOf, explain, groupsOf, questionCommand, reviewOf, verdict } from './access-explanation.ts';
import { grantsOf, ruleText, rulesSummary, withoutSubject, type RoleBinding } from './access-grants.ts';
import { requestState } from './certificate-request.ts';
import type { ApiResource } from './discovery.ts';
import { bindingsFor, grantCommands } from './new-grant.ts';

const binding = (name: string, more: Partial<RoleBinding> = {}, namespace?: string): RoleBinding => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  roleRef: { kind: 'ClusterRole', name: 'developer' },
  subjects: [{ kind: 'User', name: 'mia' }],
  ...more,
});

describe('grants', () => {
  const reader = { verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] };

  test('rules in words', () => {
    expect(ruleText(reader)).toBe('get, list configmaps');
    expect(ruleText({ verbs: ['*'], apiGroups: ['example.dev'], resources: ['*'] })).toBe(
      'everything with all resources of example.dev',
    );
    expect(ruleText({ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a', 'b'] })).toBe(
      'get secrets named a, b',
    );
    expect(ruleText({ verbs: ['access'], nonResourceURLs: ['/'] })).toBe('access on /');
    expect(rulesSummary([])).toBe('nothing: the role has no rules');
    expect(rulesSummary([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }])).toBe('everything');
    expect(rulesSummary([reader, reader, reader])).toBe('get, list configmaps; get, list configmaps; and 1 more');
  });

  test('one row for each subject; roles are looked up where their binding refers to', () => {
    const subjects = [
      { kind: 'User', name: 'mia' },
      { kind: 'ServiceAccount', name: 'deployer', namespace: 'ci' },
    ];
    const grants = grantsOf({
      bindings: [
        binding('all', { subjects }),
        binding('own', { roleRef: { kind: 'Role', name: 'reader' } }, 'blue'),
        binding('none', { roleRef: { kind: 'Role', name: 'reader' } }, 'green'),
        binding('built-in', { roleRef: { kind: 'ClusterRole', name: 'view' } }, 'blue'),
        binding('empty', { subjects: null }),
      ],
      clusterRoles: [{ metadata: { name: 'developer' }, rules: null }],
      roles: [{ metadata: { name: 'reader', namespace: 'blue' }, rules: [reader] }],
    });
    expect(grants.map(({ subject, namespace, summary }) => [subject.name, namespace, summary])).toEqual([
      ['mia', undefined, 'nothing: the role has no rules'],
      ['deployer', undefined, 'nothing: the role has no rules'],
      ['mia', 'blue', 'get, list configmaps'],
      ['mia', 'green', 'nothing: the role does not exist here'],
      ['mia', 'blue', 'reads objects in namespaces, no secrets'],
    ]);
    expect(new Set(grants.map(({ key }) => key)).size).toBe(5);
    expect(grants[1] && withoutSubject(grants[1])?.subjects).toEqual([subjects[0]]);
    expect(grants[2] && withoutSubject(grants[2])).toBeUndefined();
  });
});

describe('a new grant', () => {
  const role = { kind: 'ClusterRole', name: 'edit' } as const;

  test('a user is let into the workspace and gets the role in a namespace', () => {
    const request = { subject: { kind: 'User', name: 'Mia Doe' }, role, namespace: 'blue', entersWorkspace: true };
    expect(bindingsFor(request)).toMatchObject([
      {
        kind: 'ClusterRoleBinding',
        metadata: { name: 'system-kcp-workspace-access-mia-doe' },
        roleRef: { kind: 'ClusterRole', name: 'system:kcp:workspace:access' },
      },
      {
        kind: 'RoleBinding',
        metadata: { name: 'edit-mia-doe', namespace: 'blue' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'User', name: 'Mia Doe', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    ]);
    expect(grantCommands('root:team', request).split('\n')).toEqual([
      'kubectl ws :root:team',
      "kubectl create clusterrolebinding system-kcp-workspace-access-mia-doe --clusterrole=system:kcp:workspace:access --user='Mia Doe'",
      "kubectl create rolebinding edit-mia-doe --clusterrole=edit --user='Mia Doe' --namespace=blue",
    ]);
  });

  test('a service account is in its workspace already', () => {
    const subject = { kind: 'ServiceAccount', name: 'deployer', namespace: 'ci' };
    const request = { subject, role, namespace: undefined, entersWorkspace: true };
    expect(bindingsFor(request)).toMatchObject([
      { kind: 'ClusterRoleBinding', metadata: { name: 'edit-ci-deployer' }, subjects: [subject] },
    ]);
    expect(grantCommands('root', request)).toContain('--serviceaccount=ci:deployer');
  });

  test('what is typed stays one word of the command', () => {
    const subject = { kind: 'Group', name: "a'; rm -rf $HOME #" };
    const command = grantCommands('root', { subject, role, namespace: undefined, entersWorkspace: false });
    expect(command).toContain(String.raw`--group='a'\''; rm -rf $HOME #'`);
  });
});

describe('why a request is denied', () => {
  const chain = (...links: readonly (readonly [string, string, string])[]): Record<string, string> =>
    Object.fromEntries(
      links.flatMap(([key, decision, reason]) => [
        [`sar.auth.kcp.io/${key}-decision`, decision],
        [`sar.auth.kcp.io/${key}-reason`, reason],
      ]),
    );
  const outcomes = (annotations: Record<string, string>, allowed: boolean) =>
    explain({ metadata: { annotations }, status: { allowed } }).map(({ outcome, reason }) => [outcome, reason]);

  test('the last authorizer that was asked decides; those before have passed', () => {
    const reason = 'no verb=access permission on /';
    const steps = explain({
      metadata: { annotations: chain(['01-requiredgroups', 'NoOpinion', reason], ['02-content', 'NoOpinion', reason]) },
      status: { allowed: false },
    });
    expect(steps.map(({ outcome }) => outcome)).toEqual([
      'passed',
      'refused',
      'skipped',
      'skipped',
      'skipped',
      'skipped',
    ]);
    expect(steps[1]).toMatchObject({ reason, remedy: expect.stringContaining('system:kcp:workspace:access') });
    expect(steps[0]).toMatchObject({ reason: '', remedy: undefined });
  });

  const through = (decision: string, reason: string) =>
    (['01-requiredgroups', '02-content', '03-systemcrd', '04-maxpermissionpolicy'] as const).map(
      (key) => [key, decision, reason] as const,
    );

  test('a role of the workspace allows it', () => {
    const reason = 'RBAC: allowed by ClusterRoleBinding "a"';
    const annotations = chain(
      ...through('Allowed', reason),
      ['05-bootstrap', 'NoOpinion', 'bootstrap policy: '],
      ['05-local', 'Allowed', reason],
    );
    expect(outcomes(annotations, true).slice(3)).toEqual([
      ['passed', ''],
      ['passed', ''],
      ['allowed', reason],
    ]);
  });

  test('a role of the control plane allows it, and the roles of the workspace are not asked', () => {
    const annotations = chain(...through('Allowed', 'x'), [
      '05-bootstrap',
      'Allowed',
      'bootstrap policy: RBAC: allowed',
    ]);
    expect(outcomes(annotations, true).slice(4)).toEqual([
      ['allowed', 'RBAC: allowed'],
      ['skipped', ''],
    ]);
  });

  test('nothing allows it', () => {
    const annotations = chain(
      ...through('NoOpinion', ''),
      ['05-bootstrap', 'NoOpinion', 'bootstrap policy: '],
      ['05-local', 'NoOpinion', ''],
    );
    expect(outcomes(annotations, false).slice(4)).toEqual([
      ['passed', ''],
      ['refused', 'no role allows it'],
    ]);
  });

  test('the answer in a sentence, with and without a chain', () => {
    expect(verdict({ status: { allowed: true } })).toContain('system:masters');
    expect(verdict({ status: { allowed: false, reason: 'access denied' } })).toContain('(access denied)');
    const annotations = chain(['01-requiredgroups', 'Denied', 'x']);
    expect(verdict({ metadata: { annotations }, status: { allowed: false } })).toBe('No, this is denied.');
  });

  const served = [{ group: 'apps', version: 'v1', resource: 'deployments' }] as unknown as readonly ApiResource[];
  const nothing = { namespace: '', name: '' };

  test.each([
    ['deployments.apps', { group: 'apps', resource: 'deployments', subresource: '' }],
    ['widgets.example.dev/status', { group: 'example.dev', resource: 'widgets', subresource: 'status' }],
    ['pods/log', { group: '', resource: 'pods', subresource: 'log' }],
    ['/metrics/slis', { group: '', resource: '/metrics/slis', subresource: '' }],
  ])('%s is asked about', (resource, wanted) => {
    expect(askedOf({ ...nothing, resource }, served)).toMatchObject(wanted);
  });

  const question = {
    user: 'mia',
    groups: ['system:authenticated'],
    verb: 'get',
    group: 'apps',
    resource: 'deployments',
    subresource: 'scale',
    namespace: 'blue',
    name: 'web',
  };

  test('the review and the command ask the same', () => {
    expect(reviewOf(question)).toMatchObject({
      spec: {
        user: 'mia',
        resourceAttributes: {
          verb: 'get',
          group: 'apps',
          resource: 'deployments',
          subresource: 'scale',
          namespace: 'blue',
          name: 'web',
        },
      },
    });
    expect(reviewOf({ ...question, resource: '/metrics' })).toMatchObject({
      spec: { nonResourceAttributes: { verb: 'get', path: '/metrics' } },
    });
    expect(questionCommand('root:team', question)).toBe(
      'kubectl ws :root:team\nkubectl auth can-i get deployments.apps/web --subresource=scale --namespace=blue --as=mia --as-group=system:authenticated',
    );
  });

  test('users have the groups that every log-in brings', () => {
    expect(groupsOf('mia', ' dev , ,ops')).toEqual(['dev', 'ops', 'system:authenticated']);
    expect(groupsOf('system:serviceaccount:ci:deployer', '')).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:ci',
      'system:authenticated',
    ]);
  });
});

test.each([
  [undefined, 'Waits for approval'],
  [{ conditions: [{ type: 'Approved', status: 'True' }] }, 'Approved'],
  [{ certificate: 'x', conditions: [{ type: 'Approved', status: 'True' }] }, 'Issued'],
  [{ conditions: [{ type: 'Denied', status: 'True' }] }, 'Denied'],
  [
    {
      conditions: [
        { type: 'Approved', status: 'True' },
        { type: 'Failed', status: 'True' },
      ],
    },
    'Failed',
  ],
])('a request for a certificate with the status %j', (status, text) => {
  const spec = { signerName: 'kubernetes.io/kube-apiserver-client' };
  expect(requestState({ metadata: { name: 'a' }, spec, ...(status === undefined ? {} : { status }) }).text).toBe(text);
});
