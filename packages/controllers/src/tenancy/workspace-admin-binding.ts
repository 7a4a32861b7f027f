import {
  deepEqual,
  isJsonObject,
  parseJson,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Lister, ObjectClient } from '@multiplane/client';
import { replicateAnnotation } from '../cache/replicated-kinds.ts';
import { ignoring, mutable } from '../runtime/update-status.ts';
import { ownerAnnotation, type LogicalCluster } from './kinds.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
export const clusterRoleBindings: GroupVersionResource = {
  group: rbacGroup,
  version: 'v1',
  resource: 'clusterrolebindings',
};
/** The binding that makes the creator of a workspace its admin (C5.4). */
export const adminBinding = 'workspace-admin';

/** Makes or repairs the binding of a logical cluster's creator; a role that was exchanged needs a new binding. */
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
    // As it will be marked, for cluster-admin grants everything: one write less for every workspace.
    metadata: { name: adminBinding, annotations: { [replicateAnnotation]: 'apis.kcp.io,tenancy.kcp.io' } },
    subjects: [{ kind: 'User', apiGroup: rbacGroup, name: user }],
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'cluster-admin' },
  };
  const reference = { cluster, namespace: '', name: adminBinding };
  const current = bindings.get(reference);
  if (current !== undefined) {
    const same = (field: string): boolean => deepEqual((current[field] ?? null) as Json, wanted[field] as Json);
    if (same('roleRef') && same('subjects')) return;
    if (same('roleRef')) {
      await client.update(clusterRoleBindings, cluster, mutable(current, { subjects: wanted['subjects'] }));
      return;
    }
    await ignoring(['NotFound'], () => client.delete(clusterRoleBindings, reference));
  }
  await ignoring(['AlreadyExists'], () => client.create(clusterRoleBindings, cluster, wanted, { unread: true }));
}

function creatorOf(object: DeepReadonly<LogicalCluster>): string | undefined {
  const named = object.spec?.createdBy?.username;
  if (named !== undefined && named !== '') return named;
  const annotation = object.metadata.annotations?.[ownerAnnotation];
  if (annotation === undefined) return undefined;
  let owner: unknown;
  try {
    owner = parseJson(annotation);
  } catch {
    return undefined;
  }
  const username = isJsonObject(owner) ? owner['username'] : undefined;
  return typeof username === 'string' && username !== '' ? username : undefined;
}
