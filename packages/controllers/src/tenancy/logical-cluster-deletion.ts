import type { DeepReadonly, GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { ContentDeleter, ContentDeletionOutcome } from '../core/content-deleter.ts';
import { deleteContent, type ContentModules, type RemainingContent } from '../core/delete-content.ts';
import { setKcpCondition } from '../runtime/kcp-conditions.ts';
import { ignoreReasons, updateIfChanged, withChanges, type UpdateWithStatus } from '../runtime/object-writes.ts';
import { logicalClusterFinalizer, logicalClusters, type LogicalCluster } from './kinds.ts';
import { metadataFor } from './logical-cluster-metadata.ts';

const recheckMs = 5_000;
/** Deletions within this time are handled by one round. */
export const coalesceMs = 20;
/** Delay until the next round if objects were created during this one. */
const nextRoundMs = 50;
/** A deletion that takes longer reports what it waits for; most do not. */
const quietMs = 2_000;

const isLogicalCluster = ({ group, resource }: GroupVersionResource): boolean =>
  group === logicalClusters.group && resource === logicalClusters.resource;
const isBinding = ({ group, resource }: GroupVersionResource): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;
const isClusterRbac = ({ group, resource }: GroupVersionResource): boolean =>
  group === 'rbac.authorization.k8s.io' && resource.startsWith('clusterrole');

/** Whether a logical cluster is being deleted and has no terminators, so that its content may be deleted. */
export const isDeletingContent = ({ metadata, status }: DeepReadonly<LogicalCluster>): boolean =>
  metadata.deletionTimestamp !== undefined && (status?.terminators ?? []).length === 0;

/** Whether a deletion takes so long that the status should say why. */
const isSlow = ({ metadata }: DeepReadonly<LogicalCluster>, clock: Pick<Clock, 'now'>): boolean =>
  clock.now() - Date.parse(metadata.deletionTimestamp ?? '') >= quietMs;

/** The deletion of one logical cluster, as far as this process has run it. */
interface Deletion {
  /** When the remaining content was reported last; monotonic milliseconds. */
  reportedAt: number;
  isInRound: boolean;
  /** Content has been deleted since the last round began. */
  hasProgress: boolean;
}

interface DeleterModules extends ContentModules {
  readonly clock: Clock;
  readonly content: ContentDeleter;
  readonly updateWithStatus: UpdateWithStatus;
}

/**
 * Deletes the content of logical clusters, then removes their finalizer (kcp:
 * pkg/reconciler/core/logicalclusterdeletion). Usually one round of the {@link ContentDeleter} deletes everything. Content
 * that takes long or cannot be deleted is deleted by resource, so that a condition can report what remains and why; while
 * only finalizers are awaited, this happens every two seconds and not for every deletion. Cluster-scoped RBAC is deleted
 * last, so that controllers keep their permissions until the end.
 */
export class LogicalClusterDeleter {
  readonly #options: { readonly shardName: string };
  readonly #modules: DeleterModules;
  readonly #deletions = new Map<LogicalClusterName, Deletion>();

  constructor(options: { readonly shardName: string }, modules: DeleterModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Records that content of a logical cluster was deleted. Returns whether to queue a round; during one it is not
   * necessary, because usually the round itself caused the deletion.
   */
  contentDeleted(cluster: LogicalClusterName): boolean {
    const deletion = this.#deletions.get(cluster);
    if (deletion === undefined) return false;
    deletion.hasProgress = true;
    return !deletion.isInRound;
  }

  forget(cluster: LogicalClusterName): void {
    this.#deletions.delete(cluster);
  }

  /** Runs one round. Returns the milliseconds until the next one, if content remains. */
  async delete(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<number | void> {
    const deletion = this.#deletions.get(cluster) ?? {
      reportedAt: Number.NEGATIVE_INFINITY,
      isInRound: false,
      hasProgress: false,
    };
    this.#deletions.set(cluster, deletion);
    deletion.isInRound = true;
    deletion.hasProgress = false;
    try {
      const requeueAfter = await this.#round(object, cluster, deletion);
      return typeof requeueAfter === 'number' && deletion.hasProgress
        ? Math.min(requeueAfter, coalesceMs)
        : requeueAfter;
    } finally {
      deletion.isInRound = false;
    }
  }

  async #round(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    deletion: Deletion,
  ): Promise<number | void> {
    const { clock, content } = this.#modules;
    const outcome = await content.empty(cluster);
    if (outcome === 'nothing') return removeFinalizer(object, cluster, this.#modules);
    if (outcome === 'held') {
      const now = clock.monotonic();
      const wait = isSlow(object, clock) ? deletion.reportedAt + quietMs - now : quietMs;
      if (wait > 0) return wait;
      deletion.reportedAt = now;
    }
    return deleteByResource(object, cluster, outcome, { ...this.#modules, ...this.#options });
  }
}

/** Deletes by resource, in order, and reports what remains. */
async function deleteByResource(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  outcome: ContentDeletionOutcome,
  modules: DeleterModules & { readonly shardName: string },
): Promise<number | void> {
  // Objects in namespaces are deleted by the namespace controller.
  const skip = (resource: GroupVersionResource): boolean =>
    isClusterRbac(resource) || isLogicalCluster(resource) || isBinding(resource);
  let remaining = await deleteContent({ cluster, namespace: '', skip }, modules);
  // Bindings last, or with the rest if they serve objects that cannot be deleted otherwise.
  const isOnlyBindings = remaining.objects.size === 0 && remaining.failures.length === 0;
  if (isOnlyBindings || (outcome === 'failed' && hasUndeletableObjects(cluster, modules.informers))) {
    const bindings = await deleteContent({ cluster, namespace: '', only: [apiBindings] }, modules);
    if (isOnlyBindings) remaining = bindings;
  }
  if (remaining.objects.size > 0 || remaining.failures.length > 0) {
    if (remaining.failures.length === 0 && !isSlow(object, modules.clock)) return quietMs;
    await reportRemaining(object, cluster, remaining, modules);
    return recheckMs;
  }
  // Objects of deleted namespaces, which no scope above includes.
  for (const { resource } of modules.informers.metadata.list({ cluster }))
    if (!isLogicalCluster(resource) && !isClusterRbac(resource)) return nextRoundMs;
  const rbac = await deleteContent({ cluster, namespace: '', skip: isLogicalCluster }, modules);
  if (rbac.objects.size > 0) return recheckMs;
  return removeFinalizer(object, cluster, modules);
}

/** Writes the phase Deleting and the condition WorkspaceContentDeleted. */
async function reportRemaining(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  { objects, finalizers, failures }: RemainingContent,
  { clock, shardName, updateWithStatus }: DeleterModules & { readonly shardName: string },
): Promise<void> {
  const content = [...objects].map(([resource, count]) => `${resource} has ${count} resource instances`).sort();
  const pending = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
  const messages = [
    ...(content.length === 0 ? [] : [`Some resources are remaining: ${content.join(', ')}`]),
    ...(pending.length === 0
      ? []
      : [`Some content in the logical cluster has finalizers remaining: ${pending.join(', ')}`]),
    ...failures,
  ];
  const hasFailed = failures.length > 0;
  const conditions = setKcpCondition(
    object.status?.conditions,
    {
      type: 'WorkspaceContentDeleted',
      status: 'False',
      severity: hasFailed ? 'Error' : 'Info',
      reason: hasFailed ? 'ContentDeletionFailed' : 'SomeResourcesRemain',
      message: messages.join('; '),
    },
    new Date(clock.now()),
  );
  const status = { ...object.status, phase: 'Deleting', conditions } as NonNullable<LogicalCluster['status']>;
  const metadata = metadataFor({ ...object, status }, shardName);
  await updateIfChanged(updateWithStatus, logicalClusters, cluster, object, { status, metadata });
}

async function removeFinalizer(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  { client, content }: DeleterModules,
): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== logicalClusterFinalizer);
  await ignoreReasons(['NotFound'], async () => {
    if (finalizers.length === 0) await content.release(logicalClusters, cluster, object);
    else await client.update(logicalClusters, cluster, withChanges(object, { metadata: { finalizers } }));
  });
}

/** Whether objects have no deletion timestamp after a round, because their stored version is not served. */
function hasUndeletableObjects(cluster: LogicalClusterName, informers: ContentModules['informers']): boolean {
  for (const { resource, metadata } of informers.metadata.list({ cluster })) {
    const isDeletedLater = isLogicalCluster(resource) || isClusterRbac(resource) || isBinding(resource);
    if (!isDeletedLater && metadata.deletionTimestamp === undefined) return true;
  }
  return false;
}
