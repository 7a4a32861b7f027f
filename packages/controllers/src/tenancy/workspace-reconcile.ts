import {
  isLogicalClusterName,
  isStatusError,
  type DeepReadonly,
  type LogicalClusterName,
  type ObjectMeta,
} from '@multiplane/apimachinery';
import type { Lister } from '@multiplane/client';
import type { ContentDeleter } from '../core/content-deleter.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateIfChanged, type UpdateWithStatus } from '../runtime/object-writes.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import { intendedClusterName } from './cluster-name.ts';
import {
  chosenClusterAnnotation,
  shardAnnotation,
  workspaceFinalizer,
  workspaces,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';
import { isDeletingContent } from './logical-cluster-deletion.ts';
import {
  NotSyncedError,
  WorkspaceScheduler,
  type WorkspaceSchedulerModules,
  type WorkspaceSchedulerOptions,
} from './workspace-scheduler.ts';
import {
  ageOf,
  deletionStatus,
  metadataOfPhase,
  requeueDelay,
  scheduledStatus,
  unscheduledStatus,
  type SchedulingFailure,
} from './workspace-status.ts';

export interface WorkspaceReconcilerModules extends ControllerModules, Omit<WorkspaceSchedulerModules, 'client'> {
  readonly content: Pick<ContentDeleter, 'release'>;
  /** Throws NotFound if a Shard certainly does not exist any more. */
  readonly confirmShard: (name: string) => Promise<unknown>;
  readonly updateWithStatus: UpdateWithStatus;
}

const maxRequeueDelayMs = 30_000;
/** Delay after which a shard that is not alive is checked again. */
const deadShardRecheckMs = 5_000;

/** Takes a Workspace one step further: schedules it, updates its status, or deletes its logical cluster. */
export class WorkspaceReconciler {
  readonly scheduler: WorkspaceScheduler;
  /** Keys of Workspaces that could not be scheduled. */
  readonly unscheduled = new Set<string>();
  readonly #options: WorkspaceSchedulerOptions;
  readonly #modules: WorkspaceReconcilerModules;
  readonly #workspaces: Lister<Workspace>;

  constructor(options: WorkspaceSchedulerOptions, modules: WorkspaceReconcilerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#workspaces = modules.informers.informer<Workspace>(workspaces);
    this.scheduler = new WorkspaceScheduler(options, modules);
  }

  /** Whether the logical cluster of a Workspace is, or will be, on this shard. */
  isLocal(workspace: DeepReadonly<Workspace>): boolean {
    return this.#modules.logicalClusters.isLocal(this.#shardOf(workspace));
  }

  /** Forgets a deleted Workspace. */
  forget(workspace: DeepReadonly<Workspace>, key: string): void {
    this.unscheduled.delete(key);
    this.scheduler.forget(workspace);
  }

  async reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const workspace = this.#workspaces.get(reference);
    this.unscheduled.delete(key);
    if (workspace === undefined) return;
    if (workspace.metadata.deletionTimestamp !== undefined) return this.#delete(workspace, reference.cluster);
    if (workspace.spec?.mount !== undefined) return;
    try {
      if (workspace.spec?.cluster === undefined) return await this.#schedule(key, workspace, reference.cluster);
      return await this.#follow(key, workspace, reference.cluster, workspace.spec.cluster as LogicalClusterName);
    } catch (error) {
      if (!(error instanceof NotSyncedError)) throw error;
      this.unscheduled.add(key);
    }
  }

  async #schedule(key: string, workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<number | void> {
    const isChosen = workspace.metadata.annotations?.[chosenClusterAnnotation] !== undefined;
    if (isChosen && !this.#isAlive(workspace)) return deadShardRecheckMs;
    const placement = await this.scheduler.step(workspace, parent);
    if (placement === undefined) return;
    if ('reason' in placement) return this.#writeUnscheduled(key, workspace, placement);
    const spec = { ...workspace.spec, cluster: placement.cluster, URL: placement.url };
    const scheduled: DeepReadonly<Workspace> = { ...workspace, spec };
    const status = scheduledStatus(scheduled, placement.object, this.#now());
    return this.#write(workspace, parent, { spec, status, placementMetadata: placement.metadata });
  }

  async #writeUnscheduled(key: string, workspace: DeepReadonly<Workspace>, failure: SchedulingFailure): Promise<void> {
    this.unscheduled.add(key);
    const status = unscheduledStatus(workspace.status, failure, this.#now());
    await this.#write(workspace, referenceOf(key).cluster, { status });
  }

  /** Updates URL and status from the logical cluster and its shard. */
  async #follow(
    key: string,
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    cluster: LogicalClusterName,
  ): Promise<number | void> {
    const { logicalClusters, pathOf } = this.#modules;
    const shard = this.#shardOf(workspace);
    const parentPath = pathOf(parent);
    if (parentPath === undefined) throw new Error(`the path of logical cluster ${parent} is not known yet`);
    const url = this.scheduler.urlOf(shard, `${parentPath}:${workspace.metadata.name ?? ''}`);
    if (typeof url !== 'string') return this.#writeUnscheduled(key, workspace, url);
    const spec = { ...workspace.spec, URL: url };
    const isReady = workspace.status?.phase === 'Ready';
    if (!isReady && !this.#isAlive(workspace)) {
      // The URL does not depend on the logical cluster.
      await this.#write(workspace, parent, { spec, status: workspace.status });
      return deadShardRecheckMs;
    }
    const object = isReady ? undefined : await logicalClusters.get(shard, cluster);
    const status = scheduledStatus(workspace, object, this.#now());
    await this.#write(workspace, parent, { spec, status });
    if (status.phase === 'Ready' || (object !== undefined && logicalClusters.isLocal(shard))) return;
    return requeueDelay(ageOf(workspace, this.#now()), maxRequeueDelayMs);
  }

  /** Waits for other finalizers, deletes the logical cluster, then removes the own finalizer. */
  async #delete(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<number | void> {
    const { clock, content, logicalClusters } = this.#modules;
    const finalizers = workspace.metadata.finalizers ?? [];
    if (finalizers.length !== 1 || finalizers[0] !== workspaceFinalizer) return;
    if (!this.#isAlive(workspace)) return deadShardRecheckMs;
    const shard = this.#shardOf(workspace);
    const cluster = await this.#logicalClusterOf(workspace);
    if (cluster === undefined) {
      await ignoreReasons(['NotFound'], () => content.release(workspaces, parent, workspace));
      return;
    }
    const isLocal = logicalClusters.isLocal(shard);
    if (cluster.metadata.deletionTimestamp === undefined) {
      const name = intendedClusterName(workspace) as LogicalClusterName;
      await ignoreReasons(['NotFound'], () => logicalClusters.delete(shard, name));
      return isLocal ? undefined : requeueDelay(0, maxRequeueDelayMs);
    }
    // The deletion usually completes in a moment. A longer one sets the phase Deleting, whose event requeues the Workspace.
    if (isLocal && isDeletingContent(cluster) && cluster.status?.phase !== 'Deleting') return;
    await this.#write(workspace, parent, { status: deletionStatus(workspace.status, cluster, this.#now()) });
    if (isLocal) return;
    return requeueDelay(clock.now() - Date.parse(workspace.metadata.deletionTimestamp ?? ''), maxRequeueDelayMs);
  }

  /** The LogicalCluster that belongs to a Workspace; undefined if it, or its shard, does not exist any more. */
  async #logicalClusterOf(workspace: DeepReadonly<Workspace>): Promise<DeepReadonly<LogicalCluster> | undefined> {
    const name = intendedClusterName(workspace);
    const shard = this.#shardOf(workspace);
    if (!isLogicalClusterName(name) || (await this.#isRemoved(shard))) return undefined;
    const cluster = await this.#modules.logicalClusters.get(shard, name);
    return cluster?.spec?.owner?.uid === workspace.metadata.uid ? cluster : undefined;
  }

  /** Whether a shard was removed, with all its logical clusters. */
  async #isRemoved(shard: string): Promise<boolean> {
    const { confirmShard, globalInformers, logicalClusters } = this.#modules;
    if (logicalClusters.isLocal(shard)) return false;
    if (globalInformers.informer<Shard>(shards).get(shardReference(shard)) !== undefined) return false;
    try {
      await confirmShard(shard);
      return false;
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return true;
      throw error;
    }
  }

  #shardOf({ metadata }: DeepReadonly<Workspace>): string {
    return metadata.annotations?.[shardAnnotation] ?? this.#options.shardName;
  }

  #isAlive(workspace: DeepReadonly<Workspace>): boolean {
    return this.#modules.health.isAlive(this.#shardOf(workspace));
  }

  #now(): Date {
    return new Date(this.#modules.clock.now());
  }

  /** Writes spec, status and the metadata they require in one request, or in none if nothing changes. */
  async #write(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    {
      spec = workspace.spec,
      status = {},
      placementMetadata,
    }: {
      readonly spec?: DeepReadonly<Workspace>['spec'];
      readonly status: DeepReadonly<Workspace>['status'] | undefined;
      readonly placementMetadata?: Partial<ObjectMeta>;
    },
  ): Promise<void> {
    const placed = { ...workspace, metadata: { ...workspace.metadata, ...placementMetadata } };
    const phaseMetadata = metadataOfPhase(placed, status.phase ?? 'Scheduling');
    const metadata = placementMetadata === undefined ? phaseMetadata : { ...placementMetadata, ...phaseMetadata };
    await updateIfChanged(this.#modules.updateWithStatus, workspaces, parent, workspace, { spec, status, metadata });
  }
}
