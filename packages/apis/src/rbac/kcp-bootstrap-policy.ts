import type { JsonObject } from '@multiplane/apimachinery';
import type { BindingSpec, RoleSpec } from './policy-spec.ts';

/*
 * kcp's part of the bootstrap policy.
 */

const on = (apiGroups: string[], resources: string[], verbs: string[]): JsonObject => ({ verbs, apiGroups, resources });
const enter: JsonObject = { verbs: ['access'], nonResourceURLs: ['/'] };
const tenancy = ['tenancy.kcp.io'];
const core = ['core.kcp.io'];
const everything: JsonObject[] = [on(['*'], ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }];

export const kcpClusterRoleSpecs: readonly RoleSpec[] = [
  {
    name: 'system:kcp:tenancy:reader',
    rules: [
      on(tenancy, ['workspaces'], ['get', 'list', 'watch']),
      on(tenancy, ['workspacetypes'], ['get', 'list', 'watch']),
      on(core, ['logicalclusters'], ['get', 'list', 'watch']),
    ],
  },
  { name: 'system:kcp:tenancy:workspace-bootstrapper', rules: everything },
  {
    name: 'system:kcp:logical-cluster-admin',
    rules: [
      on(core, ['logicalclusters', 'logicalclusters/status'], ['*']),
      on(tenancy, ['workspaces'], ['delete', 'update', 'get']),
    ],
  },
  {
    name: 'system:kcp:external-logical-cluster-admin',
    rules: [
      on(core, ['logicalclusters', 'logicalclusters/status'], ['delete', 'update', 'get']),
      on(tenancy, ['workspaces'], ['delete', 'update', 'patch', 'get']),
      on([''], ['serviceaccounts', 'secrets'], ['get']),
      on(['authorization.k8s.io'], ['subjectaccessreviews'], ['create']),
      enter,
      on(['apis.kcp.io'], ['apiexportendpointslices'], ['get', 'list', 'watch']),
      on(['apis.kcp.io'], ['apiexportendpointslices/status'], ['update', 'patch', 'get']),
      on(['cache.kcp.io'], ['cachedresourceendpointslices'], ['get', 'list', 'watch']),
      on(['cache.kcp.io'], ['cachedresourceendpointslices/status'], ['update', 'patch', 'get']),
      on(['scopes.multiplane.dev'], ['apiexportscopeendpointslices'], ['get', 'list', 'watch']),
      on(
        ['scopes.multiplane.dev'],
        ['apiexportscopeendpointslices/status', 'apiexportscopes/status', 'apiexportscopesets/status'],
        ['update', 'patch', 'get'],
      ),
      on(tenancy, ['workspaceauthenticationconfigurations'], ['get']),
      on(['migration.kcp.io'], ['logicalclusterdumps'], ['create']),
      on(
        ['migration.kcp.io'],
        ['logicalclustermigrations', 'logicalclustermigrations/status'],
        ['get', 'update', 'patch'],
      ),
    ],
  },
  { name: 'system:kcp:workspace:access', rules: [enter] },
  { name: 'system:kcp:metrics-reader', rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }] },
];

const toGroup = (name: string, role: string, group: string): BindingSpec => ({
  name,
  role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
});

export const kcpClusterRoleBindingSpecs: readonly BindingSpec[] = [
  toGroup('system:kcp:admin:cluster-admin', 'cluster-admin', 'system:kcp:admin'),
  ...[
    'system:kcp:tenancy:workspace-bootstrapper',
    'system:kcp:logical-cluster-admin',
    'system:kcp:external-logical-cluster-admin',
  ].map((name) => toGroup(name, name, name)),
];
