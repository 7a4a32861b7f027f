import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import { mutated, mutationCount, requestBody } from '../mutations.ts';
import type { Random } from '../random.ts';
import { createNamespace, namespacePath, type Topic } from '../topic.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const users = ['user-1', 'user-2'] as const;
const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  '*',
  'bind',
  'escalate',
  'impersonate',
];
const resources = [
  'configmaps',
  'secrets',
  'roles',
  'rolebindings',
  'clusterroles',
  'leases',
  '*',
  'configmaps/status',
  'serviceaccounts',
  'serviceaccounts/token',
];
const groups = ['', 'rbac.authorization.k8s.io', 'coordination.k8s.io', '*'];

const rule = (random: Random): Body => ({
  apiGroups: [random.pick(groups), ...random.some(groups, 1)],
  resources: [random.pick(resources), ...random.some(resources, 1)],
  verbs: [random.pick(verbs), ...random.some(verbs, 3)],
  ...random.optional(0.15, { resourceNames: () => random.some(['a', 'b'], 2) }),
});

const role = (random: Random, kind: 'Role' | 'ClusterRole', name: string): Body => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
  rules: random.list(3, () => rule(random)),
});

const subject = (random: Random): Body =>
  random.pick<Body>([
    { kind: 'User', name: random.pick(users), apiGroup: 'rbac.authorization.k8s.io' },
    { kind: 'User', name: 'user-1', apiGroup: 'rbac.authorization.k8s.io' },
    { kind: 'ServiceAccount', name: 'sa', namespace: 't-{{run}}' },
    { kind: 'Group', name: 'system:serviceaccounts:t-{{run}}', apiGroup: 'rbac.authorization.k8s.io' },
  ]);

const binding = (random: Random, name: string): Body => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name },
  subjects: [subject(random), ...random.list(1, () => subject(random))],
  roleRef: random.pick<Body>([
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: random.pick(['view', 'edit', 'admin', 'cluster-admin', 'none']),
    },
  ]),
});

const attributes = (random: Random): Body =>
  random.chance(0.85)
    ? {
        resourceAttributes: random.optional(0.8, {
          namespace: () => 't-{{run}}',
          verb: () => random.pick(verbs),
          group: () => random.pick(groups),
          resource: () => random.pick(resources).split('/')[0],
          ...(random.chance(0.15)
            ? {
                name: () => 'a',
                subresource: () => 'status',
                version: () => 'v1',
                fieldSelector: () =>
                  random.pick<Body>([
                    { rawSelector: 'a=b' },
                    { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
                    {},
                  ]),
                labelSelector: () =>
                  random.pick<Body>([{ rawSelector: 'a=b' }, { requirements: [{ key: 'a', operator: 'x' }] }]),
              }
            : {}),
        }),
      }
    : {
        nonResourceAttributes: {
          path: random.pick(['/api', '/healthz', '/metrics', 'x', '']),
          verb: random.pick(['get', 'post']),
        },
      };

function review(random: Random): Step {
  const [path, kind, spec] = random.weighted<() => readonly [string, string, Body]>([
    [
      3,
      () => ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'SelfSubjectAccessReview', attributes(random)],
    ],
    [
      3,
      () => [
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        'SubjectAccessReview',
        {
          ...attributes(random),
          ...random.optional(0.85, { user: () => random.pick([...users, 'system:serviceaccount:t-{{run}}:sa']) }),
          ...random.optional(0.3, {
            groups: () => ['system:authenticated', 'system:serviceaccounts:t-{{run}}'],
            uid: () => '1',
            extra: () => ({ a: ['b'] }),
          }),
        },
      ],
    ],
    [
      1,
      () => [
        `/apis/authorization.k8s.io/v1/namespaces/t-{{run}}/localsubjectaccessreviews`,
        'LocalSubjectAccessReview',
        { ...attributes(random), user: 'user-1' },
      ],
    ],
    [1, () => ['/apis/authentication.k8s.io/v1/selfsubjectreviews', 'SelfSubjectReview', {}]],
    [
      0.5,
      () => [
        '/apis/authentication.k8s.io/v1/tokenreviews',
        'TokenReview',
        random.pick<Body>([{ token: 'none' }, { token: '' }, {}, { token: 'none', audiences: ['a'] }]),
      ],
    ],
  ])();
  const group = path.split('/')[2] as string;
  const object = { apiVersion: `${group}/v1`, kind, spec };
  return {
    method: 'POST',
    path,
    ...(random.chance(0.3) ? { as: random.pick([...users, 'anonymous']) } : {}),
    ...requestBody(random, mutated(random, object, random.chance(0.7) ? 0 : mutationCount(random))),
  };
}

function attempt(random: Random): Step {
  const as = random.pick([...users, 'user-1', 'anonymous', 'nobodys-token']);
  const headers: Record<string, string> = random.chance(0.08)
    ? { 'impersonate-user': random.pick(['user-2', 'system:admin', 'system:serviceaccount:t-{{run}}:sa', '']) }
    : {};
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: random.pick(['a', 'b']) } };
  return {
    as,
    headers,
    ...random.weighted<() => Step>([
      [
        3,
        () => ({
          path: `${namespacePath}/${random.pick(['configmaps/a', 'secrets/a', 'configmaps/none', 'secrets', 'roles', 'unknown'])}`,
          only: ['/kind', '/message', '/reason', '/details', '/code'],
        }),
      ],
      [2, () => ({ method: 'POST', path: `${namespacePath}/configmaps`, body: configMap })],
      [
        2,
        () => ({
          method: 'POST',
          path: `${namespacePath.replace('/api/v1', rbac)}/roles`,
          body: role(random, 'Role', `own-${random.int(9)}`),
        }),
      ],
      [
        2,
        () => ({
          method: 'POST',
          path: `${namespacePath.replace('/api/v1', rbac)}/rolebindings`,
          body: binding(random, `own-${random.int(9)}`),
        }),
      ],
      [
        1,
        () => ({
          method: 'PUT',
          path: `${namespacePath.replace('/api/v1', rbac)}/roles/r`,
          body: role(random, 'Role', 'r'),
        }),
      ],
      [1, () => ({ method: 'POST', path: `${rbac}/clusterroles`, body: role(random, 'ClusterRole', 'own-{{run}}') })],
      [1, () => ({ method: 'DELETE', path: `${namespacePath}/configmaps/a` })],
      [1, () => ({ method: 'DELETE', path: `${namespacePath}/configmaps` })],
      [
        1,
        () => ({
          path: random.pick(['/api', '/apis/unknown/v1/x', '/unknown', '/api/v1/nodes/x', '/apis/apps/v9']),
          only: ['/message', '/reason', '/details'],
        }),
      ],
    ])(),
  };
}

/** RBAC for users and service accounts, escalation, impersonation, and reviews. */
export const access: Topic = {
  name: 'access',
  steps(random) {
    const namespaced = namespacePath.replace('/api/v1', rbac);
    const steps: Step[] = [
      createNamespace,
      {
        method: 'POST',
        path: `${namespacePath}/configmaps`,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
        only: [],
      },
      { method: 'POST', path: `${namespaced}/roles`, body: role(random, 'Role', 'r') },
      { method: 'POST', path: `${namespaced}/rolebindings`, body: binding(random, 'b') },
      // Authorizers read roles through an informer; the next requests must not race with it.
      { pause: 250, path: '' },
    ];
    for (let count = 4 + random.int(5); count > 0; count--)
      steps.push(random.chance(0.45) ? review(random) : attempt(random));
    return steps;
  },
};
