import {
  clusterAnnotation,
  deepEqual,
  isLogicalClusterName,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import {
  logicalClusters,
  shardAnnotation,
  workspaces,
  workspaceTypes,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';
import { WorkspaceReconciler, type WorkspaceReconcilerModules } from './workspace-reconcile.ts';
import { hasLeftScheduling, type WorkspaceSchedulerOptions } from './workspace-scheduler.ts';

interface WorkspaceControllerModules extends WorkspaceReconcilerModules {
  readonly informers: InformerFactory;
}

/** Delay of the first request for a logical cluster on another shard, which is not Ready before. */
const firstRemoteCheckMs = 50;

/**
 * The lifecycle of Workspaces (kcp: pkg/reconciler/tenancy/workspace): the scheduler creates a logical cluster on a shard,
 * the status follows that of the logical cluster until both are Ready, and on deletion the logical cluster is deleted
 * first, then the finalizer is removed.
 *
 * A logical cluster on this shard is observed by events. One on another shard is usually Ready with the response to its
 * create; otherwise it is polled with growing delays until it is. A Ready Workspace is not polled. Workspaces on other
 * shards have a controller of their own, and a shard that is not alive gets no requests, so that it does not delay the
 * Workspaces of this shard. Returns both controllers.
 */
export function workspaceControllers(
  options: WorkspaceSchedulerOptions,
  modules: WorkspaceControllerModules,
): Controller[] {
  const reconciler = new WorkspaceReconciler(options, modules);
  const reconcile = (key: string): Promise<number | void> => reconciler.reconcile(key);
  const local: Controller = new Controller({ name: 'workspace', reconcile, workers: 16 }, modules);
  const remote: Controller = new Controller({ name: 'workspace-remote', reconcile, workers: 32 }, modules);
  handleWorkspaces({ ...modules, reconciler, local, remote });
  handleLogicalClusters({ ...modules, local });
  handleShards({ ...modules, reconciler, local, remote });
  return [local, remote];
}

interface HandlerModules extends WorkspaceControllerModules {
  readonly reconciler: WorkspaceReconciler;
  readonly local: Controller;
  readonly remote: Controller;
}

const controllerOf = (workspace: DeepReadonly<Workspace>, { reconciler, local, remote }: HandlerModules): Controller =>
  reconciler.isLocal(workspace) ? local : remote;

function handleWorkspaces(modules: HandlerModules): void {
  const { informers, reconciler } = modules;
  informers.informer<Workspace>(workspaces).addHandlers({
    added: (object, reference, isInInitialList) =>
      controllerOf(object, modules).queue.add(keyOf(reference), isInInitialList),
    updated: (object, old, reference) => {
      const { queue } = controllerOf(object, modules);
      const isNewlyScheduled = object.spec?.cluster !== undefined && old.spec?.cluster === undefined;
      // Scheduled and Ready in one write was written by the reconciler and leaves no work.
      if (isNewlyScheduled && object.status?.phase === 'Ready') return;
      const delay = isNewlyScheduled && !reconciler.isLocal(object) ? firstRemoteCheckMs : 0;
      queue.addAfter(keyOf(reference), delay);
    },
    deleted: (old, reference) => reconciler.forget(old, keyOf(reference)),
  });
}

/** Queues the Workspace of a logical cluster on this shard. */
function handleLogicalClusters({ informers, local }: Pick<HandlerModules, 'informers' | 'local'>): void {
  const enqueueOwner = (cluster: DeepReadonly<LogicalCluster>, isInInitialList?: boolean): void => {
    const owner = cluster.spec?.owner;
    if (owner?.resource === workspaces.resource && isLogicalClusterName(owner.cluster))
      local.queue.add(keyOf({ cluster: owner.cluster, namespace: '', name: owner.name }), isInInitialList);
  };
  informers.informer<LogicalCluster>(logicalClusters).addHandlers({
    added: (cluster, _reference, isInInitialList) => {
      if (hasLeftScheduling(cluster)) enqueueOwner(cluster, isInInitialList);
    },
    updated: (cluster, old) => {
      if (!looksUnchanged(cluster, old)) enqueueOwner(cluster);
    },
    deleted: (old) => enqueueOwner(old),
  });
}

/** Queues the unschedulable Workspaces when a shard or type may allow to schedule them, and those of a changed shard. */
function handleShards(modules: HandlerModules): void {
  const { informers, globalInformers, health, reconciler, local } = modules;
  const enqueueUnscheduled = (): void => reconciler.unscheduled.forEach((key) => local.queue.add(key));
  const enqueueOfShard = ({ name: shard }: ObjectReference): void => {
    for (const workspace of informers.informer<Workspace>(workspaces).list()) {
      const { annotations = {}, name = '' } = workspace.metadata;
      if (annotations[shardAnnotation] !== shard) continue;
      const cluster = annotations[clusterAnnotation] as LogicalClusterName;
      controllerOf(workspace, modules).queue.add(keyOf({ cluster, namespace: '', name }));
    }
  };
  globalInformers.informer<Shard>(shards).addHandlers({
    added: enqueueUnscheduled,
    updated: (shard, old, reference) => {
      enqueueUnscheduled();
      if (shard.spec.externalURL !== old.spec.externalURL) enqueueOfShard(reference);
    },
    deleted: (_old, reference) => enqueueOfShard(reference),
  });
  globalInformers.informer(workspaceTypes).addHandlers({ added: enqueueUnscheduled, updated: enqueueUnscheduled });
  health.onAvailable(enqueueUnscheduled);
  // The owner of the informers reports a failed sync.
  reconciler.scheduler.synced.then(enqueueUnscheduled, () => {});
}

const isSame = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);

/** Whether the fields of a logical cluster that its Workspace depends on are unchanged. */
const looksUnchanged = (cluster: DeepReadonly<LogicalCluster>, old: DeepReadonly<LogicalCluster>): boolean =>
  cluster.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
  isSame(cluster.status, old.status) &&
  isSame(cluster.spec?.owner, old.spec?.owner);
