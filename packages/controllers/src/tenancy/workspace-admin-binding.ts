import {
  deepEqual,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Lister, ObjectClient } from '@multiplane/client';
import { replicateAnnotation } from '../cache/replicated-kinds.ts';
import { ignoreReasons, withChanges } from '../runtime/object-writes.ts';
import { ownerAnnotation, type LogicalCluster } from './kinds.ts';
import { ownerName } from './owner-annotation.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
export const clusterRoleBindings: GroupVersionResource = {
  group: rbacGroup,
  version: 'v1',
  resource: 'clusterrolebindings',
};
/** The ClusterRoleBinding that grants cluster-admin to the creator of a workspace. */
export const adminBindingName = 'workspace-admin';

/** Creates or repairs the admin binding of a logical cluster. A wrong roleRef, which is immutable, needs a new binding. */
export async function ensureAdminBinding(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  { bindings, client }: { readonly bindings: Lister; readonly client: ObjectClient },
): Promise<void> {
  const user = creatorOf(object);
  if (user === undefined) return;
  const wanted: KubeObject = {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    // The annotation that the replicate annotation controller would add, to save its write for every workspace.
    metadata: { name: adminBindingName, annotations: { [replicateAnnotation]: 'apis.kcp.io,tenancy.kcp.io' } },
    subjects: [{ kind: 'User', apiGroup: rbacGroup, name: user }],
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'cluster-admin' },
  };
  const reference = { cluster, namespace: '', name: adminBindingName };
  const current = bindings.get(reference);
  if (current !== undefined) {
    const same = (field: string): boolean => deepEqual((current[field] ?? null) as Json, wanted[field] as Json);
    if (same('roleRef') && same('subjects')) return;
    if (same('roleRef')) {
      await client.update(clusterRoleBindings, cluster, withChanges(current, { subjects: wanted['subjects'] }));
      return;
    }
    await ignoreReasons(['NotFound'], () => client.delete(clusterRoleBindings, reference));
  }
  await ignoreReasons(['AlreadyExists'], () =>
    client.create(clusterRoleBindings, cluster, wanted, { discardResult: true }),
  );
}

function creatorOf({ spec, metadata }: DeepReadonly<LogicalCluster>): string | undefined {
  const createdBy = spec?.createdBy?.username;
  if (createdBy !== undefined && createdBy !== '') return createdBy;
  const annotation = metadata.annotations?.[ownerAnnotation];
  const owner = annotation === undefined ? undefined : ownerName(annotation);
  return owner === '' ? undefined : owner;
}
