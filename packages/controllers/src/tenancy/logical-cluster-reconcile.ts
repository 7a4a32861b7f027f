import {
  isLogicalClusterName,
  mapConcurrently,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Lister } from '@multiplane/client';
import type { ContentDeleter } from '../core/content-deleter.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type KcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import {
  ignoreReasons,
  updateIfChanged,
  updateStatus,
  withChanges,
  type UpdateWithStatus,
} from '../runtime/object-writes.ts';
import type { DefaultBindingWriter } from './default-binding-writer.ts';
import { isMarkedInactive } from './inactive.ts';
import {
  chosenClusterAnnotation,
  logicalClusterFinalizer,
  logicalClusters,
  shardAnnotation,
  workspaces,
  type LogicalCluster,
  type Phase,
  type Workspace,
} from './kinds.ts';
import { isDeletingContent, LogicalClusterDeleter } from './logical-cluster-deletion.ts';
import { metadataFor } from './logical-cluster-metadata.ts';
import { clusterRoleBindings, ensureAdminBinding } from './workspace-admin-binding.ts';
import { hasLeftScheduling } from './workspace-scheduler.ts';
import { apiBindingsInitializer } from './workspace-type-closure.ts';

type Status = NonNullable<LogicalCluster['status']>;

/** The next status and, if given, the milliseconds after which to reconcile again. */
interface StatusResult {
  readonly status: Status;
  readonly requeueAfter?: number;
}

export interface LogicalClusterOptions {
  readonly shardName: string;
  /** URL at which clients reach this shard. */
  readonly externalUrl: () => string;
}

export interface LogicalClusterReconcilerModules extends ControllerModules {
  readonly defaultBindings: DefaultBindingWriter;
  /** Writes to the Workspace of a logical cluster that was moved from another shard where it is now. */
  readonly notifyOwner: (owner: NonNullable<LogicalCluster['spec']>['owner']) => Promise<void>;
  readonly content: ContentDeleter;
  readonly updateWithStatus: UpdateWithStatus;
  /** Failed reconciles of a key in a row. */
  readonly failuresOf: (key: string) => number;
}

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const systemNamespaces = ['default', 'kube-system'];
/** The initializer of the type that all shipped types extend. It creates the system namespaces. */
const universalInitializer = 'root:universal';
/** Initializers that are run here. */
const systemInitializers: ReadonlySet<string> = new Set([universalInitializer, apiBindingsInitializer]);
const retryBindingsMs = 5_000;

/** Takes a logical cluster to its next phase, including the work of that phase. */
export class LogicalClusterReconciler {
  readonly deleter: LogicalClusterDeleter;
  /** Keys of logical clusters that wait for default bindings. */
  readonly waitingForBindings = new Set<string>();
  readonly #options: LogicalClusterOptions;
  readonly #modules: LogicalClusterReconcilerModules;
  readonly #clusters: Lister<LogicalCluster>;
  readonly #workspaces: Lister<Workspace>;
  readonly #roleBindings: Lister;

  constructor(options: LogicalClusterOptions, modules: LogicalClusterReconcilerModules) {
    const { informers } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#clusters = informers.informer<LogicalCluster>(logicalClusters);
    this.#workspaces = informers.informer<Workspace>(workspaces);
    this.#roleBindings = informers.informer(clusterRoleBindings);
    this.deleter = new LogicalClusterDeleter(options, modules);
  }

  async reconcile(key: string): Promise<number | void> {
    const { client, notifyOwner, updateWithStatus } = this.#modules;
    const { shardName } = this.#options;
    const reference = referenceOf(key);
    const object = this.#clusters.get(reference);
    if (object?.status?.phase !== 'Initializing') this.waitingForBindings.delete(key);
    if (object === undefined) return;
    const { cluster } = reference;
    if (object.metadata.deletionTimestamp !== undefined) return this.#terminate(object, cluster);
    if (this.#isDisowned(object, cluster)) return client.delete(logicalClusters, reference);
    await ensureAdminBinding(object, cluster, { bindings: this.#roleBindings, client });
    // Before the annotation names this shard: afterwards nothing shows that the logical cluster was moved.
    const previousShard = object.metadata.annotations?.[shardAnnotation];
    if (previousShard !== undefined && previousShard !== shardName) await notifyOwner(object.spec?.owner);
    const { status, requeueAfter } = await this.#nextStatus(object, cluster, key);
    const metadata = metadataFor({ ...object, status }, shardName);
    await updateIfChanged(updateWithStatus, logicalClusters, cluster, object, { status, metadata });
    return requeueAfter;
  }

  /**
   * Whether the Workspace refers to another logical cluster, before this one has started: two replicas that both took
   * themselves for the leader have scheduled the Workspace.
   */
  #isDisowned(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): boolean {
    const { owner } = object.spec ?? {};
    if (hasLeftScheduling(object) || owner?.resource !== workspaces.resource || !isLogicalClusterName(owner.cluster))
      return false;
    const workspace = this.#workspaces.get({ cluster: owner.cluster, namespace: '', name: owner.name });
    if (workspace === undefined || workspace.metadata.uid !== owner.uid) return false;
    const named = workspace.spec?.cluster ?? workspace.metadata.annotations?.[chosenClusterAnnotation];
    return named !== undefined && named !== cluster;
  }

  async #nextStatus(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    key: string,
  ): Promise<StatusResult> {
    const status = { ...object.status, URL: `${this.#options.externalUrl()}/clusters/${cluster}` } as Status;
    const phase = object.status?.phase ?? 'Scheduling';
    if (phase === 'Scheduling') return this.#start(object, cluster, status, key);
    if (phase === 'Initializing') return this.#initialize(object, cluster, status, key);
    return { status: { ...status, phase: activePhase(object, phase) } };
  }

  /** Initializing with all initializers, or Ready if the system's are all there are and succeed at the first try. */
  async #start(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    status: Status,
    key: string,
  ): Promise<StatusResult> {
    const { initializers = [], terminators = [] } = object.spec ?? {};
    const initializing: Status = {
      ...status,
      phase: 'Initializing',
      ...(initializers.length === 0 ? {} : { initializers: [...initializers] }),
      ...(terminators.length === 0 ? {} : { terminators: [...terminators] }),
    };
    if (!initializers.every((id) => systemInitializers.has(id)) || this.#modules.failuresOf(key) > 0)
      return { status: initializing };
    const next = await this.#initialize({ ...object, status: initializing }, cluster, initializing, key);
    return next.status.phase === 'Ready' ? next : { status: initializing };
  }

  /** Runs the remaining initializers of the system concurrently. */
  async #initialize(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    status: Status,
    key: string,
  ): Promise<StatusResult> {
    const { clock, defaultBindings } = this.#modules;
    const now = new Date(clock.now());
    const done = new Set<string>();
    const remaining = object.status?.initializers ?? [];
    let conditions: KcpCondition[] = [...(status.conditions ?? [])];
    const jobs: (() => Promise<void>)[] = [];
    if (remaining.includes(universalInitializer)) {
      jobs.push(...systemNamespaces.map((name) => () => this.#createSystemNamespace(cluster, name)));
      done.add(universalInitializer);
    }
    if (remaining.includes(apiBindingsInitializer))
      jobs.push(async () => {
        const { done: areBound, condition } = await defaultBindings.initialize(object, cluster);
        conditions = setKcpCondition(conditions, condition, now);
        if (areBound) done.add(apiBindingsInitializer);
        else this.waitingForBindings.add(key);
      });
    await mapConcurrently(jobs, Number.POSITIVE_INFINITY, (job) => job());
    const initializers = remaining.filter((id) => !done.has(id));
    conditions = setKcpCondition(conditions, initializedCondition(initializers), now);
    const { initializers: _remaining, ...others } = status;
    return {
      status: {
        ...others,
        ...(initializers.length === 0 ? {} : { initializers }),
        phase: initializers.length === 0 ? 'Ready' : 'Initializing',
        conditions,
      },
      ...(initializers.includes(apiBindingsInitializer) ? { requeueAfter: retryBindingsMs } : {}),
    };
  }

  /** Created once; users may change it. */
  #createSystemNamespace(cluster: LogicalClusterName, name: string): Promise<void> {
    const { client } = this.#modules;
    const namespace: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, annotations: { 'bootstrap.kcp.io/create-only': 'true' } },
    };
    return ignoreReasons(['AlreadyExists'], () =>
      client.create(namespaces, cluster, namespace, { discardResult: true }),
    );
  }

  async #terminate(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<number | void> {
    const { client } = this.#modules;
    const hasTerminators = !isDeletingContent(object);
    const metadata = metadataFor(object, this.#options.shardName);
    // The deletion usually completes in a moment, so the phase Deleting is only written by the deleter if it does not.
    const canDelete = !hasTerminators && metadata?.finalizers === undefined && object.status?.phase !== 'Terminating';
    if (canDelete && (object.metadata.finalizers ?? []).includes(logicalClusterFinalizer))
      return this.deleter.delete(object, cluster);
    const status = { ...object.status, phase: hasTerminators ? 'Terminating' : 'Deleting' };
    if (await updateStatus(client, logicalClusters, cluster, object, status as unknown as JsonObject)) return;
    if (metadata !== undefined)
      await ignoreReasons(['NotFound'], () =>
        client.update(logicalClusters, cluster, withChanges(object, { metadata })),
      );
  }
}

function activePhase(object: DeepReadonly<LogicalCluster>, phase: Phase): Phase {
  const isInactive = isMarkedInactive(object);
  if (phase === 'Ready' && isInactive) return 'Inactive';
  return phase === 'Inactive' && !isInactive ? 'Ready' : phase;
}

function initializedCondition(initializers: readonly string[]): NewKcpCondition {
  return initializers.length === 0
    ? { type: 'WorkspaceInitialized', status: 'True' }
    : {
        type: 'WorkspaceInitialized',
        status: 'False',
        severity: 'Info',
        reason: 'InitializerExists',
        message: `Initializers still exist: [${initializers.join(' ')}]`,
      };
}
