import type { DeepReadonly, GroupVersionResource, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { deleteContent, type ContentModules } from '../core/delete-content.ts';
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import { logicalClusterFinalizer, logicalClusters, type LogicalCluster } from './kinds.ts';

const recheckMs = 5_000;
/** A removal that takes longer says what it waits for; most are over before anybody could read it. */
const quietMs = 2_000;
const isLogicalCluster = ({ group, resource }: GroupVersionResource): boolean =>
  group === logicalClusters.group && resource === logicalClusters.resource;
const isClusterRbac = ({ group, resource }: GroupVersionResource): boolean =>
  group === 'rbac.authorization.k8s.io' && resource.startsWith('clusterrole');

/** Whether a removal takes so long that somebody will ask why. */
export function isLongRemoval({ metadata }: DeepReadonly<LogicalCluster>, clock: Pick<Clock, 'now'>): boolean {
  return clock.now() - Date.parse(metadata.deletionTimestamp ?? '') >= quietMs;
}

/**
 * Empties a logical cluster and lets it go (C15.3). The order keeps the rights of those who still work in it until the
 * end: RBAC of the cluster goes last. Returns when to look again.
 */
export async function removeContent(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  modules: ContentModules & { readonly clock: Clock },
): Promise<number | void> {
  const { client, clock } = modules;
  // What stands in namespaces is the namespace controller's work; here it only counts as what remains.
  const skip = (resource: GroupVersionResource): boolean => isClusterRbac(resource) || isLogicalCluster(resource);
  const own = await deleteContent({ cluster, namespace: '', skip }, modules);
  if (own.objects.size > 0 || own.failures.length > 0) {
    if (own.failures.length === 0 && !isLongRemoval(object, clock)) return quietMs;
    const remaining = [...own.objects].map(([resource, count]) => `${resource} has ${count} resource instances`).sort();
    const pending = [...own.finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    const texts = [
      ...(remaining.length === 0 ? [] : [`Some resources are remaining: ${remaining.join(', ')}`]),
      ...(pending.length === 0
        ? []
        : [`Some content in the logical cluster has finalizers remaining: ${pending.join(', ')}`]),
      ...own.failures,
    ];
    const failed = own.failures.length > 0;
    const conditions = setKcpCondition(
      object.status?.conditions,
      {
        type: 'WorkspaceContentDeleted',
        status: 'False',
        severity: failed ? 'Error' : 'Info',
        reason: failed ? 'ContentDeletionFailed' : 'SomeResourcesRemain',
        message: texts.join('; '),
      },
      new Date(clock.now()),
    );
    const status = { ...object.status, conditions };
    await updateStatus(client, logicalClusters, cluster, object, status as unknown as JsonObject);
    return recheckMs;
  }
  const rbac = await deleteContent({ cluster, namespace: '', skip: isLogicalCluster }, modules);
  if (rbac.objects.size > 0) return recheckMs;
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== logicalClusterFinalizer);
  await ignoring(['NotFound'], () =>
    client.update(logicalClusters, cluster, mutable(object, { metadata: { finalizers } })),
  );
}
