import { nativeExportNames, nativeKindsBattery } from '@multiplane/apis';
import type { GroupVersionResource, JsonObject, KubeObject } from '@multiplane/apimachinery';
import type { InformerFactory, ObjectClient } from '@multiplane/client';
import { workspaceTypes } from '@multiplane/controllers';
import { rootCluster } from '../logical-cluster-index.ts';
import { reconcileObject } from './reconcile-object.ts';

interface BootstrapModules {
  readonly client: ObjectClient;
  readonly informers: InformerFactory;
}

const universal = { name: 'universal', path: 'root' };
const extendsUniversal = { extend: { with: [universal] } };
const typesBattery = 'workspace-types';

/**
 * The built-in workspace types (kcp `config/root`); `organization` and `team` belong to the battery `workspace-types`, `kubernetes` with
 * Kubernetes' own kinds to `native-kinds`.
 */
function types(batteries: ReadonlySet<string>): Record<string, JsonObject> {
  const hasOrganizations = batteries.has(typesBattery);
  return {
    universal: {
      initializer: true,
      defaultAPIBindings: [
        { path: 'root', export: 'tenancy.kcp.io' },
        { path: 'root', export: 'topology.kcp.io' },
      ],
    },
    root: {
      ...extendsUniversal,
      limitAllowedParents: { none: true },
      ...(hasOrganizations ? { defaultChildWorkspaceType: { name: 'organization', path: 'root' } } : {}),
    },
    home: { ...extendsUniversal, defaultChildWorkspaceType: universal, limitAllowedParents: { none: true } },
    ...(hasOrganizations
      ? {
          organization: {
            ...extendsUniversal,
            defaultChildWorkspaceType: universal,
            limitAllowedChildren: { types: [universal] },
            limitAllowedParents: { types: [{ name: 'root', path: 'root' }] },
          },
          team: {
            ...extendsUniversal,
            defaultChildWorkspaceType: universal,
            limitAllowedParents: {
              types: [
                { name: 'organization', path: 'root' },
                { name: 'team', path: 'root' },
              ],
            },
          },
        }
      : {}),
    ...(batteries.has(nativeKindsBattery)
      ? {
          kubernetes: {
            ...extendsUniversal,
            defaultAPIBindings: nativeExportNames.map((name) => ({ path: 'root', export: name })),
          },
        }
      : {}),
  };
}

const rbacGroup = 'rbac.authorization.k8s.io';
const rbac = (resource: string): GroupVersionResource => ({ group: rbacGroup, version: 'v1', resource });

/** Creates missing types without updating existing ones, and allows all authenticated users to use the general ones. */
export async function bootstrapTypes(
  options: { readonly batteries: ReadonlySet<string> },
  modules: BootstrapModules,
): Promise<void> {
  for (const [name, spec] of Object.entries(types(options.batteries))) {
    const type: KubeObject = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name, annotations: { 'bootstrap.kcp.io/create-only': 'true' } },
      spec,
    };
    await reconcileObject(workspaceTypes, rootCluster, type, [], modules);
  }
  const role: KubeObject = {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'system:kcp:universal-workspacetype-use' },
    rules: [
      {
        apiGroups: ['tenancy.kcp.io'],
        resources: ['workspacetypes'],
        resourceNames: ['universal', 'organization', 'team', 'kubernetes'],
        verbs: ['use'],
      },
    ],
  };
  await reconcileObject(rbac('clusterroles'), rootCluster, role, ['rules'], modules);
  const binding: KubeObject = {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'system:kcp:authenticated:universal-workspacetype-use' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'system:kcp:universal-workspacetype-use' },
    subjects: [{ apiGroup: rbacGroup, kind: 'Group', name: 'system:authenticated' }],
  };
  await reconcileObject(rbac('clusterrolebindings'), rootCluster, binding, ['subjects'], modules);
}
