import {
  clusterAnnotation,
  deepEqual,
  isLogicalClusterName,
  isStatusError,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
  type ObjectMeta,
} from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import type { ContentRemover } from '../core/content-remover.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, updateParts, type UpdateWhole } from '../runtime/update-status.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import { clusterOf } from './cluster-name.ts';
import {
  chosenClusterAnnotation,
  logicalClusters,
  shardAnnotation,
  workspaceFinalizer,
  workspaces,
  workspaceTypes,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';
import { isBeingEmptied } from './logical-cluster-removal.ts';
import {
  hasBegun,
  NotKnownYetError,
  WorkspaceScheduler,
  type WorkspaceSchedulerModules,
  type WorkspaceSchedulerOptions,
} from './workspace-scheduler.ts';
import {
  ageOf,
  lookAgainAfter,
  metadataOfPhase,
  removalStatus,
  scheduledStatus,
  unscheduledStatus,
  type SchedulingFailure,
} from './workspace-status.ts';

interface WorkspaceControllerModules extends ControllerModules, Omit<WorkspaceSchedulerModules, 'client'> {
  readonly content: Pick<ContentRemover, 'release'>;
  /** Throws NotFound for a Shard that certainly does not exist any more. */
  readonly confirmShard: (name: string) => Promise<unknown>;
  readonly updateWhole: UpdateWhole;
}

const longestLookMs = 30_000;
/** A logical cluster on another shard is not Ready before: a question that comes earlier is one too many. */
const firstLookMs = 50;
/** When a shard that is silent is asked again. */
const silenceMs = 5_000;

/**
 * The life of a Workspace (C5.1): the scheduler gives it a logical cluster on some shard, its status follows that
 * logical cluster's until both are Ready, and on deletion the logical cluster goes first, with all it holds; the
 * Workspace's finalizer falls when it is gone.
 *
 * A logical cluster on this shard tells of itself by events. One on another shard is mostly Ready with the answer to its
 * create; else it is asked, often at first and ever more seldom, as long as something is expected of it: a Ready Workspace
 * costs nothing. Workspaces elsewhere have workers of
 * their own, and a shard known to be silent is not asked: whatever becomes of it holds up nobody here.
 */
export function workspaceControllers(
  options: WorkspaceSchedulerOptions,
  modules: WorkspaceControllerModules,
): Controller[] {
  const { informers, clock } = modules;
  const lister = informers.informer<Workspace>(workspaces);
  const scheduler = new WorkspaceScheduler(options, modules);
  const here: Controller = new Controller({ name: 'workspace', reconcile, workers: 16 }, modules);
  const elsewhere: Controller = new Controller({ name: 'workspace-elsewhere', reconcile, workers: 32 }, modules);
  const enqueue = (workspace: DeepReadonly<Workspace>, reference: ObjectReference, wasThere?: boolean): void => {
    const controller = modules.logicalClusters.isLocal(shardOf(workspace)) ? here : elsewhere;
    controller.queue.add(keyOf(reference), wasThere);
  };
  /** Keys of those that no shard could be found for: any change of a shard may help them. */
  const unplaced = new Set<string>();
  lister.addHandlers({
    added: enqueue,
    updated: (object, old, reference) => {
      const isPlaced = object.spec?.cluster !== undefined && old.spec?.cluster === undefined;
      // Placed and Ready in one write: that is step C (WorkspaceScheduler), to which nothing is to be added.
      if (isPlaced && object.status?.phase === 'Ready') return;
      if (isPlaced && !modules.logicalClusters.isLocal(shardOf(object)))
        elsewhere.queue.addAfter(keyOf(reference), firstLookMs);
      else enqueue(object, reference);
    },
    deleted: (old, reference) => {
      unplaced.delete(keyOf(reference));
      scheduler.forget(old);
    },
  });
  const tellOwner = (cluster: DeepReadonly<LogicalCluster>, wasThere?: boolean): void => {
    const owner = cluster.spec?.owner;
    if (owner?.resource === workspaces.resource && isLogicalClusterName(owner.cluster))
      here.queue.add(keyOf({ cluster: owner.cluster, namespace: '', name: owner.name }), wasThere);
  };
  informers.informer<LogicalCluster>(logicalClusters).addHandlers({
    added: (cluster, _reference, wasThere) => {
      if (hasBegun(cluster)) tellOwner(cluster, wasThere);
    },
    updated: (cluster, old) => {
      if (!isSameStory(cluster, old)) tellOwner(cluster);
    },
    deleted: (old) => tellOwner(old),
  });
  const placeAgain = (): void => unplaced.forEach((key) => here.queue.add(key));
  modules.globalInformers.informer<Shard>(shards).addHandlers({
    added: placeAgain,
    updated: (shard, old, reference) => {
      placeAgain();
      if (shard.spec.externalURL !== old.spec.externalURL) ofShard(reference);
    },
    deleted: (_old, reference) => ofShard(reference),
  });
  modules.health.onRelief(placeAgain);
  // Fails with its informers, which somebody else looks after.
  scheduler.known.then(placeAgain, () => {});
  modules.globalInformers.informer(workspaceTypes).addHandlers({ added: placeAgain, updated: placeAgain });
  /** All workspaces of a shard; an operator's doing, and seldom. */
  function ofShard({ name }: ObjectReference): void {
    for (const workspace of lister.list()) {
      const { annotations = {}, name: called = '' } = workspace.metadata;
      if (annotations[shardAnnotation] !== name) continue;
      enqueue(workspace, {
        cluster: annotations[clusterAnnotation] as LogicalClusterName,
        namespace: '',
        name: called,
      });
    }
  }

  async function reconcile(key: string): Promise<number | void> {
    try {
      return await advance(key);
    } catch (error) {
      if (!(error instanceof NotKnownYetError)) throw error;
      unplaced.add(key);
    }
  }

  async function advance(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const workspace = lister.get(reference);
    unplaced.delete(key);
    if (workspace === undefined) return;
    if (workspace.metadata.deletionTimestamp !== undefined) return remove(workspace, reference.cluster);
    if (workspace.spec?.mount !== undefined) return;
    if (workspace.spec?.cluster === undefined) {
      if (workspace.metadata.annotations?.[chosenClusterAnnotation] !== undefined && isSilent(workspace))
        return silenceMs;
      const next = await scheduler.step(workspace, reference.cluster);
      if (next === undefined) return;
      if ('reason' in next) return tellUnplaced(key, workspace, next);
      const spec = { ...workspace.spec, cluster: next.cluster, URL: next.url };
      const placed: DeepReadonly<Workspace> = { ...workspace, spec };
      const status = scheduledStatus(placed, next.object, now());
      return write(workspace, reference.cluster, { spec, status, chosen: next.metadata });
    }
    return follow(key, workspace, workspace.spec.cluster as LogicalClusterName);
  }

  async function tellUnplaced(
    key: string,
    workspace: DeepReadonly<Workspace>,
    failure: SchedulingFailure,
  ): Promise<void> {
    unplaced.add(key);
    await write(workspace, referenceOf(key).cluster, { status: unscheduledStatus(workspace.status, failure, now()) });
  }

  /** Brings address and status up to what the logical cluster and its shard say. */
  async function follow(
    key: string,
    workspace: DeepReadonly<Workspace>,
    cluster: LogicalClusterName,
  ): Promise<number | void> {
    const parent = referenceOf(key).cluster;
    const shard = shardOf(workspace);
    const parentPath = modules.pathOf(parent);
    if (parentPath === undefined) throw new Error(`the path of logical cluster ${parent} is not known yet`);
    const url = scheduler.urlOf(shard, `${parentPath}:${workspace.metadata.name ?? ''}`);
    if (typeof url !== 'string') return tellUnplaced(key, workspace, url);
    const spec = { ...workspace.spec, URL: url };
    const settled = workspace.status?.phase === 'Ready';
    if (!settled && isSilent(workspace)) {
      // Its address needs nobody's word.
      await write(workspace, parent, { spec, status: workspace.status });
      return silenceMs;
    }
    const object = settled ? undefined : await modules.logicalClusters.get(shard, cluster);
    const status = scheduledStatus(workspace, object, now());
    await write(workspace, parent, { spec, status });
    if (status.phase === 'Ready' || (object !== undefined && modules.logicalClusters.isLocal(shard))) return;
    return lookAgainAfter(ageOf(workspace, now()), longestLookMs);
  }

  /** Other finalizers go first; then the logical cluster with all it holds; then ours (C5.1, 2). */
  async function remove(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<number | void> {
    const finalizers = workspace.metadata.finalizers ?? [];
    if (finalizers.length !== 1 || finalizers[0] !== workspaceFinalizer) return;
    const name = clusterOf(workspace);
    if (name !== undefined && isSilent(workspace)) return silenceMs;
    const shard = shardOf(workspace);
    const cluster =
      name !== undefined && isLogicalClusterName(name) && !(await isGone(shard))
        ? await modules.logicalClusters.get(shard, name)
        : undefined;
    if (cluster === undefined || cluster.spec?.owner?.uid !== workspace.metadata.uid) {
      await ignoring(['NotFound'], () => modules.content.release(workspaces, parent, workspace));
      return;
    }
    const isLocal = modules.logicalClusters.isLocal(shard);
    if (cluster.metadata.deletionTimestamp === undefined) {
      await ignoring(['NotFound'], () => modules.logicalClusters.delete(shard, name as LogicalClusterName));
      return isLocal ? undefined : lookAgainAfter(0, longestLookMs);
    }
    // What is over in a moment is worth no write of its own: one that takes longer says so itself, and is heard.
    if (isLocal && isBeingEmptied(cluster) && cluster.status?.phase !== 'Deleting') return;
    await write(workspace, parent, { status: removalStatus(workspace.status, cluster, now()) });
    if (isLocal) return;
    return lookAgainAfter(clock.now() - Date.parse(workspace.metadata.deletionTimestamp ?? ''), longestLookMs);
  }

  /** A shard that was taken out of service took its logical clusters along. */
  async function isGone(shard: string): Promise<boolean> {
    if (modules.logicalClusters.isLocal(shard)) return false;
    if (modules.globalInformers.informer<Shard>(shards).get(shardReference(shard)) !== undefined) return false;
    try {
      await modules.confirmShard(shard);
      return false;
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return true;
      throw error;
    }
  }

  function shardOf({ metadata }: DeepReadonly<Workspace>): string {
    return metadata.annotations?.[shardAnnotation] ?? options.shardName;
  }
  const now = (): Date => new Date(clock.now());
  const isSilent = (workspace: DeepReadonly<Workspace>): boolean => !modules.health.isAlive(shardOf(workspace));
  /** Address, status and what follows from that in the metadata, in one write; none when all is as it should be. */
  async function write(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    {
      spec = workspace.spec,
      status = {},
      chosen,
    }: {
      readonly spec?: DeepReadonly<Workspace>['spec'];
      readonly status: DeepReadonly<Workspace>['status'] | undefined;
      readonly chosen?: Partial<ObjectMeta>;
    },
  ): Promise<void> {
    const said = { ...workspace, metadata: { ...workspace.metadata, ...chosen } };
    const ofPhase = metadataOfPhase(said, status.phase ?? 'Scheduling');
    const metadata = chosen === undefined ? ofPhase : { ...chosen, ...ofPhase };
    await updateParts(modules.updateWhole, workspaces, parent, workspace, { spec, status, metadata });
  }
  return [here, elsewhere];
}

const same = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);

/** Whether all that a Workspace shows of its logical cluster stayed as it was. */
const isSameStory = (cluster: DeepReadonly<LogicalCluster>, old: DeepReadonly<LogicalCluster>): boolean =>
  cluster.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
  same(cluster.status, old.status) &&
  same(cluster.spec?.owner, old.spec?.owner);
