import {
  base36Sha224Bytes,
  isLogicalClusterName,
  isStatusError,
  type DeepReadonly,
  type LogicalClusterName,
  type ObjectMeta,
  errorText,
} from '@multiplane/apimachinery';
import { AmbiguousPathError, type InformerSource, type ObjectClient, type PathAndNameLookup } from '@multiplane/client';
import {
  appliedLimitsAnnotation,
  formatSettings,
  inheritedLimits,
  inheritedLimitsAnnotation,
  type ResourceLocks,
} from '@multiplane/apis';
import { withChanges } from '../runtime/object-writes.ts';
import { chooseShard, shardSelector, type ShardState } from '../sharding/choose-shard.ts';
import { rootCluster, shardReference, shards, type Shard } from '../sharding/kinds.ts';
import { clusterNameOf, randomClusterName } from './cluster-name.ts';
import { defaultLocks, type ExportLookup } from './default-bindings.ts';
import {
  chosenClusterAnnotation,
  phaseLabel,
  regionLabel,
  shardAnnotation,
  shardHashAnnotation,
  workspaceFinalizer,
  workspaces,
  type LogicalCluster,
  type Workspace,
  type WorkspaceType,
} from './kinds.ts';
import type { LogicalClusterAccess } from './logical-cluster-access.ts';
import { newLogicalCluster } from './new-logical-cluster.ts';
import type { LimitsOfParent } from './workspace-limits-controller.ts';
import type { SchedulingFailure } from './workspace-status.ts';
import { lifecycleOf, resolveTypeClosure, WorkspaceTypeError } from './workspace-type-closure.ts';

/** The path of the shipped types, for references without a path. */
const rootPath = 'root';

export interface WorkspaceSchedulerOptions {
  readonly shardName: string;
  /** URL at which clients reach this shard, without a path. */
  readonly externalUrl: () => string;
  readonly randomBytes: (size: number) => Buffer;
  /** A random number in [0, 1). */
  readonly random: () => number;
}

export interface WorkspaceSchedulerModules {
  readonly client: ObjectClient;
  /** Shards of the installation. */
  readonly globalInformers: InformerSource;
  readonly logicalClusters: LogicalClusterAccess;
  readonly health: ShardState;
  /** Whether this shard is allowed to create logical clusters on another one. */
  readonly mayUse: (shard: string) => boolean;
  /** Workspace types of all shards. */
  readonly types: PathAndNameLookup<WorkspaceType>;
  /** Exports of all shards. */
  readonly exports: ExportLookup;
  readonly limitsOfParent: LimitsOfParent;
  /** Canonical path of a logical cluster of this shard. */
  readonly pathOf: (cluster: LogicalClusterName) => string | undefined;
}

/** A Workspace with its logical cluster. */
export interface Placement {
  readonly cluster: LogicalClusterName;
  readonly url: string;
  readonly object: DeepReadonly<LogicalCluster>;
  /** Changes of the Workspace's metadata that record it. */
  readonly metadata: Partial<ObjectMeta>;
}

/** The chosen shard and name of a logical cluster. */
interface PlacementDecision {
  readonly shard: string;
  readonly cluster: LogicalClusterName;
}

/** Whether the logical cluster controller has written a status. */
export function hasLeftScheduling({ status }: DeepReadonly<LogicalCluster>): boolean {
  return (status?.phase ?? 'Scheduling') !== 'Scheduling';
}

/** Something is missing before the informers of all shards have synced, so that it may exist. */
export class NotSyncedError extends Error {
  override readonly name = 'NotSyncedError';
}

/** kcp's hash of the name of a shard, as in the annotation {@link shardHashAnnotation}. */
export function shardHash(name: string): string {
  return base36Sha224Bytes(Buffer.from(name)).slice(0, 8);
}

/**
 * Creates the logical cluster of a Workspace on a shard (kcp:
 * pkg/reconciler/tenancy/workspace/workspace_reconcile_scheduling.go), in steps of one write each, so that a crash between
 * two of them leaks nothing:
 *
 * ```
 *  A  Workspace        annotations with the chosen shard and name, finalizer; only for another shard
 *  B  LogicalCluster   created on the shard under that name. Exists and is owned by the Workspace: as good;
 *                      exists with another owner: A again
 *  C  Workspace        spec.cluster and spec.URL with the status: from now on the path resolves
 * ```
 *
 * {@link step} does A and B, its caller C with the status. On this shard C waits for the first status of the logical
 * cluster: usually Ready, so that the Workspace becomes Ready with C.
 *
 * After a crash the annotations give the same shard and name. A local logical cluster needs no A: its name is derived from
 * the Workspace's uid, and is looked up before a shard is chosen. A Workspace that is deleted between B and C gets the
 * finalizer on deletion (`finalizersOfDeletion` of its strategy), as if A had been written.
 */
export class WorkspaceScheduler {
  readonly #options: WorkspaceSchedulerOptions;
  readonly #modules: WorkspaceSchedulerModules;
  #hasSynced = false;
  /** Names of local logical clusters whose creation was requested and may have succeeded, by the uid of the Workspace. */
  readonly #requested = new Map<string, LogicalClusterName>();
  /** The base URL that was validated last; checked three times per Workspace and nearly always the same. */
  #validBase = '';
  /** Resolves when shards and workspace types are synced. */
  readonly synced: Promise<void>;

  constructor(options: WorkspaceSchedulerOptions, modules: WorkspaceSchedulerModules) {
    this.#options = options;
    this.#modules = modules;
    const { globalInformers, types } = modules;
    // The index of types is synced later than their informer.
    this.synced = Promise.all([globalInformers.informer(shards).synced, types.synced]).then(() => {
      this.#hasSynced = true;
    });
    // The owner of the informers reports a failed sync.
    this.synced.catch(() => {});
  }

  /**
   * Runs the next step. Returns the logical cluster after B, or a failure for the status; undefined if an event requeues
   * the Workspace for the next step. Throws NotSyncedError for a failure before {@link synced}.
   */
  async step(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
  ): Promise<Placement | SchedulingFailure | undefined> {
    const recorded = recordedChoice(workspace);
    if (recorded !== undefined) {
      const placed = await this.#create(workspace, parent, recorded);
      if (placed !== 'taken') return placed;
      const { [chosenClusterAnnotation]: _taken, ...annotations } = workspace.metadata.annotations ?? {};
      await this.#modules.client.update(workspaces, parent, withChanges(workspace, { metadata: { annotations } }));
      return undefined;
    }
    const { uid = '' } = workspace.metadata;
    const requested = this.#requested.get(uid);
    const local: PlacementDecision = { shard: this.#options.shardName, cluster: requested ?? clusterNameOf(uid) };
    const isLocal =
      requested !== undefined || this.#modules.logicalClusters.cached(local.shard, local.cluster) !== undefined;
    const shard = isLocal ? local.shard : this.#choose(workspace, parent);
    if (typeof shard !== 'string') return shard;
    if (shard === local.shard) {
      const placed = await this.#create(workspace, parent, local);
      if (placed === 'taken' || (placed !== undefined && 'object' in placed)) this.#requested.delete(uid);
      if (placed !== 'taken') return placed;
    }
    const choice: PlacementDecision = { shard, cluster: randomClusterName(this.#options.randomBytes) };
    const metadata = this.#metadataOf(workspace, choice);
    await this.#modules.client.update(workspaces, parent, withChanges(workspace, { metadata }), {
      discardResult: true,
    });
    return undefined;
  }

  /** Forgets a deleted Workspace. */
  forget({ metadata }: DeepReadonly<Workspace>): void {
    this.#requested.delete(metadata.uid ?? '');
  }

  /** Step B. */
  async #create(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    choice: PlacementDecision,
  ): Promise<Placement | SchedulingFailure | 'taken' | undefined> {
    const { shard, cluster } = choice;
    const parentPath = this.#modules.pathOf(parent);
    if (parentPath === undefined) throw new Error(`the path of logical cluster ${parent} is not known yet`);
    const path = `${parentPath}:${workspace.metadata.name ?? ''}`;
    const url = this.urlOf(shard, path);
    if (typeof url !== 'string') return url;
    const { logicalClusters } = this.#modules;
    let object = logicalClusters.cached(shard, cluster);
    if (object === undefined) {
      const lifecycle = this.#lifecycleOf(workspace, cluster);
      if ('reason' in lifecycle) return this.#failure(lifecycle);
      const above = this.#modules.limitsOfParent(parent);
      const limits = above && formatSettings(inheritedLimits(above, workspace.metadata.annotations));
      const wanted = newLogicalCluster(workspace, { parent, path, shard, limits, ...lifecycle });
      if (recordedChoice(workspace) === undefined) this.#requested.set(workspace.metadata.uid ?? '', cluster);
      object = await this.#createOrGet(shard, cluster, wanted);
    }
    if (object.spec?.owner?.uid !== workspace.metadata.uid) return 'taken';
    if (logicalClusters.isLocal(shard) && !hasLeftScheduling(object)) return undefined;
    const metadata = this.#metadataOf(workspace, choice);
    const limits = object.metadata.annotations?.[inheritedLimitsAnnotation];
    if (limits !== undefined) metadata.annotations = { ...metadata.annotations, [appliedLimitsAnnotation]: limits };
    return { cluster, url, object, metadata };
  }

  /** The URL of a workspace on a shard, or why it has none. Throws NotSyncedError like {@link step}. */
  urlOf(shardName: string, path: string): string | SchedulingFailure {
    const own = shardName === this.#options.shardName;
    const shard = this.#shard(shardName);
    if (shard === undefined && !own) {
      const message = `chosen shard "${shardName}" does not exist anymore: ${shards.resource}.${shards.group} "${shardName}" not found`;
      return this.#failure({ reason: 'Unschedulable', message });
    }
    // The cached Shard object of this shard may be older than its options.
    const base = own ? this.#options.externalUrl() : (shard?.spec.externalURL ?? shard?.spec.baseURL ?? '');
    if (base !== this.#validBase) {
      if (!URL.canParse(base)) {
        const message = `Invalid connection information on target Shard: parse ${JSON.stringify(base)}: invalid URI`;
        return { reason: 'Unknown', message };
      }
      this.#validBase = base;
    }
    return `${base.replace(/\/+$/, '')}/clusters/${path}`;
  }

  #failure(failure: SchedulingFailure): SchedulingFailure {
    if (!this.#hasSynced) throw new NotSyncedError(failure.message);
    return failure;
  }

  /**
   * Chooses a shard: any for a workspace directly below root, preferably this one, which has the parent, for all others.
   * Parent and child on one shard cost less than on two.
   */
  #choose(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): string | SchedulingFailure {
    const { health, globalInformers, mayUse } = this.#modules;
    let selector;
    try {
      selector = shardSelector(workspace.spec?.location?.selector);
    } catch (error) {
      const message = `spec.location.selector is invalid: ${errorText(error)}`;
      return { reason: 'Unschedulable', message };
    }
    const candidates = globalInformers
      .informer<Shard>(shards)
      .list({ cluster: rootCluster })
      .filter(({ metadata }) => mayUse(metadata.name ?? ''));
    const preferred = parent === rootCluster ? undefined : this.#options.shardName;
    const shard = chooseShard(candidates, { selector, preferred }, health, this.#options.random);
    if (shard === undefined)
      return this.#failure({ reason: 'Unschedulable', message: 'No available shards to schedule the workspace' });
    return shard.metadata.name ?? '';
  }

  /** The Workspace's metadata with a recorded choice. */
  #metadataOf(
    { metadata, status }: DeepReadonly<Workspace>,
    { shard, cluster }: PlacementDecision,
  ): Partial<ObjectMeta> {
    const { annotations = {}, finalizers = [], labels = {} } = metadata;
    const { [regionLabel]: _old, ...others } = labels;
    const region = this.#shard(shard)?.metadata.labels?.[regionLabel];
    return {
      annotations: {
        ...annotations,
        [chosenClusterAnnotation]: cluster,
        [shardAnnotation]: shard,
        [shardHashAnnotation]: shardHash(shard),
      },
      finalizers: finalizers.includes(workspaceFinalizer) ? [...finalizers] : [...finalizers, workspaceFinalizer],
      labels: {
        ...others,
        ...(region === undefined ? {} : { [regionLabel]: region }),
        [phaseLabel]: status?.phase ?? 'Scheduling',
      },
    };
  }

  /** Initializers, terminators and locks that the type of a Workspace and the types it extends require. */
  #lifecycleOf(
    { spec }: DeepReadonly<Workspace>,
    cluster: LogicalClusterName,
  ): (ReturnType<typeof lifecycleOf> & { readonly locks: ResourceLocks }) | SchedulingFailure {
    const { name, path = rootPath } = spec?.type ?? {};
    if (name === undefined) return { initializers: [], terminators: [], locks: new Map() };
    try {
      const type = this.#modules.types.byPathAndName(path, name);
      if (type === undefined) return { reason: 'Unknown', message: `workspace type ${path}:${name} not found` };
      const closure = resolveTypeClosure(this.#modules.types, type);
      return { ...lifecycleOf(closure), locks: defaultLocks(cluster, closure, this.#modules.exports) };
    } catch (error) {
      if (!(error instanceof WorkspaceTypeError || error instanceof AmbiguousPathError)) throw error;
      return { reason: 'Unknown', message: error.message };
    }
  }

  async #createOrGet(
    shard: string,
    cluster: LogicalClusterName,
    object: ReturnType<typeof newLogicalCluster>,
  ): Promise<DeepReadonly<ReturnType<typeof newLogicalCluster>>> {
    const { logicalClusters } = this.#modules;
    try {
      return await logicalClusters.create(shard, cluster, object);
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
      const existing = await logicalClusters.get(shard, cluster);
      if (existing === undefined) throw error;
      return existing;
    }
  }

  #shard(name: string): DeepReadonly<Shard> | undefined {
    return this.#modules.globalInformers.informer<Shard>(shards).get(shardReference(name));
  }
}

/** The choice recorded in the annotations of a Workspace. */
function recordedChoice({ metadata }: DeepReadonly<Workspace>): PlacementDecision | undefined {
  const { annotations = {}, finalizers = [] } = metadata;
  const cluster = annotations[chosenClusterAnnotation];
  const shard = annotations[shardAnnotation];
  if (cluster === undefined || shard === undefined || !isLogicalClusterName(cluster)) return undefined;
  return finalizers.includes(workspaceFinalizer) ? { shard, cluster } : undefined;
}
