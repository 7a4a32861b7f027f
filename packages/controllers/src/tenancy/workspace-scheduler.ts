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
import type { ResourceLocks } from '@multiplane/apis';
import { mutable } from '../runtime/update-status.ts';
import { chooseShard, shardSelector, type ShardState } from '../sharding/choose-shard.ts';
import { rootCluster, shardReference, shards, type Shard } from '../sharding/kinds.ts';
import { clusterNameOf, randomClusterName } from './cluster-name.ts';
import { defaultLocks, type Exports } from './default-bindings.ts';
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
import type { SchedulingFailure } from './workspace-status.ts';
import { lifecycleOf, resolveTypeClosure, WorkspaceTypeError } from './workspace-type-closure.ts';

/** Where the shipped types live: a reference without a path means one of them. */
const rootPath = 'root';

export interface WorkspaceSchedulerOptions {
  readonly shardName: string;
  /** Where clients reach this shard, without a path. */
  readonly externalUrl: () => string;
  readonly randomBytes: (size: number) => Buffer;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface WorkspaceSchedulerModules {
  readonly client: ObjectClient;
  /** Shards of the whole installation. */
  readonly globalInformers: InformerSource;
  readonly logicalClusters: LogicalClusterAccess;
  readonly health: ShardState;
  /** False for a shard on which this one has no right to make logical clusters. */
  readonly mayUse: (shard: string) => boolean;
  /** Types of the whole installation. */
  readonly types: PathAndNameLookup<WorkspaceType>;
  /** Exports of the whole installation. */
  readonly exports: Exports;
  /** Canonical path of a logical cluster of this shard. */
  readonly pathOf: (cluster: LogicalClusterName) => string | undefined;
}

/** Where a Workspace is. */
export interface Placement {
  readonly cluster: LogicalClusterName;
  readonly url: string;
  readonly object: DeepReadonly<LogicalCluster>;
  /** What the Workspace does not say of it yet. */
  readonly metadata: Partial<ObjectMeta>;
}

/** Where a Workspace is to be. */
interface Choice {
  readonly shard: string;
  readonly cluster: LogicalClusterName;
}

/** False until the controller of a logical cluster has said something about it. */
export function hasBegun({ status }: DeepReadonly<LogicalCluster>): boolean {
  return (status?.phase ?? 'Scheduling') !== 'Scheduling';
}

/** Something is missing that may only not have been heard of yet. */
export class NotKnownYetError extends Error {
  override readonly name = 'NotKnownYetError';
}

/** kcp's short name of a shard (C1.2). */
export function shardHash(name: string): string {
  return base36Sha224Bytes(Buffer.from(name)).slice(0, 8);
}

/**
 * Gives a Workspace a logical cluster on one of the shards, in steps of one write each, so that a crash between any two
 * leaves nothing behind (C5.1, 3):
 *
 * ```
 *  A  the Workspace   the chosen shard, the chosen name of the logical cluster, the finalizer; only for another shard
 *  B  the shard       the LogicalCluster under that name; there already and ours is as good, somebody else's → A again
 *  C  the Workspace   spec.cluster and spec.URL, and the status that goes with them: from now on it is found
 * ```
 *
 * A and B are done here, C is the caller's, who knows the status. A logical cluster on this shard is let speak first: most
 * are Ready with their controller's first word, and so is the Workspace then with C.
 *
 * Whoever comes after a crash finds the choice written down and goes on with the same shard and name. On this shard that
 * is not needed: the name follows from the Workspace's uid, and before anything else is chosen this shard is asked for it.
 * What is deleted before C gets the finalizer then (`finalizersOfDeletion` of its strategy), and goes as if it had been
 * written with A.
 */
export class WorkspaceScheduler {
  readonly #options: WorkspaceSchedulerOptions;
  readonly #modules: WorkspaceSchedulerModules;
  #isKnown = false;
  /** By the uids of Workspaces: names of logical clusters that were asked for here, and may be there. */
  readonly #asked = new Map<string, LogicalClusterName>();
  /** What was found to be a URL last: asked for three times per Workspace, and seldom another. */
  #parsedBase = '';
  /** Resolves when this shard knows the others, and the types of all of them. */
  readonly known: Promise<void>;

  constructor(options: WorkspaceSchedulerOptions, modules: WorkspaceSchedulerModules) {
    this.#options = options;
    this.#modules = modules;
    const { globalInformers, types } = modules;
    // A type that is there may not be found yet: each reader is told of what is there in its own time.
    this.known = Promise.all([globalInformers.informer(shards).synced, types.synced]).then(() => {
      this.#isKnown = true;
    });
    // Whoever owns the informers fails of it; here nothing is known then.
    this.known.catch(() => {});
  }

  /**
   * One step: where the logical cluster is, or a failure for the status; undefined when an event brings the Workspace back
   * for the next step. Throws NotKnownYetError where only {@link known} can tell whether there is a failure.
   */
  async step(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
  ): Promise<Placement | SchedulingFailure | undefined> {
    const written = choiceOf(workspace);
    if (written !== undefined) {
      const placed = await this.#make(workspace, parent, written);
      if (placed !== 'taken') return placed;
      const { [chosenClusterAnnotation]: _taken, ...annotations } = workspace.metadata.annotations ?? {};
      await this.#modules.client.update(workspaces, parent, mutable(workspace, { metadata: { annotations } }));
      return undefined;
    }
    const { uid = '' } = workspace.metadata;
    const asked = this.#asked.get(uid);
    const here: Choice = { shard: this.#options.shardName, cluster: asked ?? clusterNameOf(uid) };
    const isThere = asked !== undefined || this.#modules.logicalClusters.known(here.shard, here.cluster) !== undefined;
    const shard = isThere ? here.shard : this.#choose(workspace, parent);
    if (typeof shard !== 'string') return shard;
    if (shard === here.shard) {
      const placed = await this.#make(workspace, parent, here);
      if (placed === 'taken' || (placed !== undefined && 'object' in placed)) this.#asked.delete(uid);
      if (placed !== 'taken') return placed;
    }
    const choice: Choice = { shard, cluster: randomClusterName(this.#options.randomBytes) };
    const metadata = this.#metadataOf(workspace, choice);
    await this.#modules.client.update(workspaces, parent, mutable(workspace, { metadata }), { unread: true });
    return undefined;
  }

  /** A Workspace is gone. */
  forget({ metadata }: DeepReadonly<Workspace>): void {
    this.#asked.delete(metadata.uid ?? '');
  }

  /** Step B. */
  async #make(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    choice: Choice,
  ): Promise<Placement | SchedulingFailure | 'taken' | undefined> {
    const { shard, cluster } = choice;
    const parentPath = this.#modules.pathOf(parent);
    if (parentPath === undefined) throw new Error(`the path of logical cluster ${parent} is not known yet`);
    const path = `${parentPath}:${workspace.metadata.name ?? ''}`;
    const url = this.urlOf(shard, path);
    if (typeof url !== 'string') return url;
    const { logicalClusters } = this.#modules;
    let made = logicalClusters.known(shard, cluster);
    if (made === undefined) {
      const lifecycle = this.#lifecycleOf(workspace, cluster);
      if ('reason' in lifecycle) return this.#failure(lifecycle);
      const object = newLogicalCluster(workspace, { parent, path, shard, ...lifecycle });
      if (choiceOf(workspace) === undefined) this.#asked.set(workspace.metadata.uid ?? '', cluster);
      made = await this.#createOrGet(shard, cluster, object);
    }
    if (made.spec?.owner?.uid !== workspace.metadata.uid) return 'taken';
    if (logicalClusters.isLocal(shard) && !hasBegun(made)) return undefined;
    return { cluster, url, object: made, metadata: this.#metadataOf(workspace, choice) };
  }

  /** The address of a workspace on a shard, or why it has none. Throws NotKnownYetError like {@link step}. */
  urlOf(shardName: string, path: string): string | SchedulingFailure {
    const own = shardName === this.#options.shardName;
    const shard = this.#shard(shardName);
    if (shard === undefined && !own) {
      const message = `chosen shard "${shardName}" does not exist anymore: ${shards.resource}.${shards.group} "${shardName}" not found`;
      return this.#failure({ reason: 'Unschedulable', message });
    }
    // What this shard says of itself is newer than what was replicated.
    const base = own ? this.#options.externalUrl() : (shard?.spec.externalURL ?? shard?.spec.baseURL ?? '');
    if (base !== this.#parsedBase) {
      if (!URL.canParse(base)) {
        const message = `Invalid connection information on target Shard: parse ${JSON.stringify(base)}: invalid URI`;
        return { reason: 'Unknown', message };
      }
      this.#parsedBase = base;
    }
    return `${base.replace(/\/+$/, '')}/clusters/${path}`;
  }

  #failure(failure: SchedulingFailure): SchedulingFailure {
    if (!this.#isKnown) throw new NotKnownYetError(failure.message);
    return failure;
  }

  /**
   * The name of a shard: any for the tops of tenants' trees, and for what is below them rather this one, where the parent
   * is. Within one shard a workspace costs less than over two, and a tree needs no more shards than it has to.
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

  /** What a Workspace says of a choice, with all else that it says. */
  #metadataOf({ metadata, status }: DeepReadonly<Workspace>, { shard, cluster }: Choice): Partial<ObjectMeta> {
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

  /** What its type and those that it extends ask of a new workspace. */
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

/** What is written down on a Workspace. */
function choiceOf({ metadata }: DeepReadonly<Workspace>): Choice | undefined {
  const { annotations = {}, finalizers = [] } = metadata;
  const cluster = annotations[chosenClusterAnnotation];
  const shard = annotations[shardAnnotation];
  if (cluster === undefined || shard === undefined || !isLogicalClusterName(cluster)) return undefined;
  return finalizers.includes(workspaceFinalizer) ? { shard, cluster } : undefined;
}
