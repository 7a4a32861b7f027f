import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { InformerFactory, ObjectClient } from '@multiplane/client';
import { rootCluster } from '../logical-cluster-index.ts';
import { reconcileObject } from './reconcile-object.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
const rbac = (resource: string): GroupVersionResource => ({ group: rbacGroup, version: 'v1', resource });
const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const roleName = 'metrics-viewer';
const accountName = 'metrics';
const namespace = 'default';

/**
 * Battery `metrics-viewer`: lets the user of that name and the ServiceAccount `metrics` read `/metrics`. The Secret `metrics`
 * holds the token of the ServiceAccount.
 */
export async function bootstrapMetricsViewer(modules: {
  readonly client: ObjectClient;
  readonly informers: InformerFactory;
}): Promise<void> {
  const objects: readonly [GroupVersionResource, KubeObject, readonly string[]][] = [
    [core('namespaces'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, []],
    [
      core('serviceaccounts'),
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accountName, namespace } },
      [],
    ],
    [
      core('secrets'),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: accountName,
          namespace,
          annotations: { 'kubernetes.io/service-account.name': accountName },
        },
        type: 'kubernetes.io/service-account-token',
      },
      [],
    ],
    [
      rbac('clusterroles'),
      {
        apiVersion: `${rbacGroup}/v1`,
        kind: 'ClusterRole',
        metadata: { name: roleName },
        rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
      },
      ['rules'],
    ],
    [
      rbac('clusterrolebindings'),
      {
        apiVersion: `${rbacGroup}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: roleName },
        roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: roleName },
        subjects: [
          { kind: 'ServiceAccount', name: accountName, namespace },
          { apiGroup: rbacGroup, kind: 'User', name: roleName },
        ],
      },
      ['subjects'],
    ],
  ];
  for (const [resource, object, lists] of objects) await reconcileObject(resource, rootCluster, object, lists, modules);
}
