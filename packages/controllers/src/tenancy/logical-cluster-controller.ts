import {
  isLogicalClusterName,
  severalAtOnce,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiBindings, apiExports, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable, updateParts, updateStatus, type UpdateWhole } from '../runtime/update-status.ts';
import type { ContentRemover } from '../core/content-remover.ts';
import type { DefaultBindingWriter } from './default-binding-writer.ts';
import { isMarkedInactive } from './inactive.ts';
import { setKcpCondition, type KcpCondition } from './kcp-conditions.ts';
import {
  chosenClusterAnnotation,
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  shardAnnotation,
  workspaces,
  type LogicalCluster,
  type Phase,
  type Workspace,
} from './kinds.ts';
import { metadataFor } from './logical-cluster-metadata.ts';
import { ContentRemoval, isBeingEmptied, togetherMs } from './logical-cluster-removal.ts';
import { adminBinding, clusterRoleBindings, ensureAdminBinding } from './workspace-admin.ts';
import { hasBegun } from './workspace-scheduler.ts';
import { apiBindingsInitializer } from './workspace-type-closure.ts';

interface LogicalClusterControllerModules extends ControllerModules {
  readonly defaultBindings: DefaultBindingWriter;
  /** Of all shards: what a default binding may wait for. */
  readonly globalInformers: InformerSource;
  /** Tells the Workspace of a logical cluster that came from another shard where that is now. */
  readonly tellOwner: (owner: NonNullable<LogicalCluster['spec']>['owner']) => Promise<void>;
  readonly content: ContentRemover;
  readonly updateWhole: UpdateWhole;
}

type Status = NonNullable<LogicalCluster['status']>;

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const systemNamespaces = ['default', 'kube-system'];
/** The initializer of the type that all shipped types extend; every shard does its work itself (C5.5). */
const universalInitializer = 'root:universal';
/** What is done here, without anybody else. */
const ownInitializers: ReadonlySet<string> = new Set([universalInitializer, apiBindingsInitializer]);
const retryBindingsMs = 5_000;
/**
 * The life of a logical cluster (C5.4, C5.5, C5.6, C5.8, C15.3).
 *
 * ```
 * Scheduling → Initializing → Ready ⇄ Inactive
 *                  │ waits for status.initializers: the system's own are done here, the rest by controllers of types
 *     deleted → Terminating → Deleting → gone
 *                  │ waits for status.terminators with all content in place, then everything it holds goes
 * ```
 *
 * Metadata follows the status, never the other way round: labels only make visible what the status says. One that waits
 * for nobody else is Ready with the first word about it; everybody else's work begins with the write of Initializing.
 */
export function logicalClusterController(
  options: { readonly shardName: string; readonly externalUrl: () => string },
  modules: LogicalClusterControllerModules,
): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<LogicalCluster>(logicalClusters);
  const owners = informers.informer<Workspace>(workspaces);
  const bindings = informers.informer(clusterRoleBindings);
  const removal = new ContentRemoval(options, modules);
  const controller: Controller = new Controller({ name: 'logicalcluster', reconcile, workers: 16 }, modules);
  const ownerOf = (cluster: LogicalClusterName): string =>
    keyOf({ cluster, namespace: '', name: logicalClusterObjectName });
  lister.addHandlers({
    added: (_object, reference, wasThere) => controller.queue.add(keyOf(reference), wasThere),
    updated: (object, old, reference) => {
      // Ready with the first word: that was said here, and leaves nothing to be done but what the next phase is for.
      const isReady = object.status?.phase === 'Ready' && !isMarkedInactive(object);
      if (!isReady || hasBegun(old)) controller.queue.add(keyOf(reference));
    },
    deleted: (_old, { cluster }) => removal.forget(cluster),
  });
  bindings.addHandlers({
    updated: (_object, _old, { cluster, name }) => {
      if (name === adminBinding) controller.queue.add(ownerOf(cluster));
    },
    deleted: (_old, { cluster, name }) => {
      if (name === adminBinding) controller.queue.add(ownerOf(cluster));
    },
  });
  // Who waits for a default binding is told when it goes on, and who waits for an export when there may be one.
  const waitingForBindings = new Set<string>();
  informers.informer<APIBinding>(apiBindings).addHandlers({
    updated: (_binding, _old, { cluster }) => {
      const key = ownerOf(cluster);
      if (waitingForBindings.has(key)) controller.queue.add(key);
    },
  });
  const addWaiting = (): void => waitingForBindings.forEach((key) => controller.queue.add(key));
  modules.globalInformers.informer<APIExport>(apiExports).addHandlers({ added: addWaiting, updated: addWaiting });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster, namespace }) => {
      // What stands in a namespace goes with it.
      if (namespace !== '') return;
      if (removal.isWaiting(cluster)) controller.queue.addAfter(ownerOf(cluster), togetherMs);
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = lister.get(reference);
    if (object?.status?.phase !== 'Initializing') waitingForBindings.delete(key);
    if (object === undefined) return;
    const { cluster } = reference;
    if (object.metadata.deletionTimestamp !== undefined) return remove(object, cluster);
    if (isDisowned(object, cluster)) return client.delete(logicalClusters, reference);
    await ensureAdminBinding(object, cluster, { bindings, client });
    // The owner first: once the logical cluster says where it is, nobody remembers that it moved.
    const cameFrom = object.metadata.annotations?.[shardAnnotation];
    if (cameFrom !== undefined && cameFrom !== options.shardName) await modules.tellOwner(object.spec?.owner);
    const { status, again } = await nextStatus(object, cluster, key);
    const metadata = metadataFor({ ...object, status }, options.shardName);
    await updateParts(modules.updateWhole, logicalClusters, cluster, object, { status, metadata });
    return again;
  }

  /** Before it began, its Workspace got another one: two replicas took themselves for the one that schedules. */
  function isDisowned(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): boolean {
    const { owner } = object.spec ?? {};
    if (hasBegun(object) || owner?.resource !== workspaces.resource || !isLogicalClusterName(owner.cluster))
      return false;
    const workspace = owners.get({ cluster: owner.cluster, namespace: '', name: owner.name });
    if (workspace === undefined || workspace.metadata.uid !== owner.uid) return false;
    const named = workspace.spec?.cluster ?? workspace.metadata.annotations?.[chosenClusterAnnotation];
    return named !== undefined && named !== cluster;
  }

  /** One step further from where it stands, with the work that belongs to the step done. */
  async function nextStatus(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    key: string,
  ): Promise<{ readonly status: Status; readonly again?: number }> {
    const status = { ...object.status, URL: `${options.externalUrl()}/clusters/${cluster}` } as Status;
    const phase = object.status?.phase ?? 'Scheduling';
    if (phase === 'Scheduling') return begin(object, cluster, status, key);
    if (phase === 'Initializing') return initialize(object, cluster, status);
    return { status: { ...status, phase: settledPhase(object, phase) } };
  }

  /** What cannot be Ready at once, or failed to be, is seen to wait, for all that it has to wait for. */
  async function begin(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    status: Status,
    key: string,
  ): Promise<{ readonly status: Status; readonly again?: number }> {
    const { initializers = [], terminators = [] } = object.spec ?? {};
    // Admission sees to the same lists (C6.9).
    const begun: Status = {
      ...status,
      phase: 'Initializing',
      ...(initializers.length === 0 ? {} : { initializers: [...initializers] }),
      ...(terminators.length === 0 ? {} : { terminators: [...terminators] }),
    };
    if (!initializers.every((id) => ownInitializers.has(id)) || controller.queue.failuresOf(key) > 0)
      return { status: begun };
    const next = await initialize({ ...object, status: begun }, cluster, begun);
    return next.status.phase === 'Ready' ? next : { status: begun };
  }

  async function initialize(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    status: Status,
  ): Promise<{ readonly status: Status; readonly again?: number }> {
    const now = new Date(clock.now());
    const done = new Set<string>();
    const waiting = object.status?.initializers ?? [];
    let conditions: KcpCondition[] = [...(status.conditions ?? [])];
    // None of this needs any other of it: the store has it all at once.
    const jobs: (() => Promise<void>)[] = [];
    if (waiting.includes(universalInitializer)) {
      jobs.push(...systemNamespaces.map((name) => () => createSystemNamespace(cluster, name)));
      done.add(universalInitializer);
    }
    if (waiting.includes(apiBindingsInitializer))
      jobs.push(async () => {
        const { done: bound, condition } = await modules.defaultBindings.initialize(object, cluster);
        conditions = setKcpCondition(conditions, condition, now);
        if (bound) done.add(apiBindingsInitializer);
        else waitingForBindings.add(ownerOf(cluster));
      });
    await severalAtOnce(jobs, jobs.length, (job) => job());
    const initializers = waiting.filter((id) => !done.has(id));
    conditions = setKcpCondition(conditions, initializedCondition(initializers), now);
    const { initializers: _done, ...others } = status;
    return {
      status: {
        ...others,
        ...(initializers.length === 0 ? {} : { initializers }),
        phase: initializers.length === 0 ? 'Ready' : 'Initializing',
        conditions,
      },
      ...(initializers.includes(apiBindingsInitializer) ? { again: retryBindingsMs } : {}),
    };
  }

  /** What every workspace of the universal type begins with; made once, for its users to change. */
  function createSystemNamespace(cluster: LogicalClusterName, name: string): Promise<void> {
    const namespace: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, annotations: { 'bootstrap.kcp.io/create-only': 'true' } },
    };
    return ignoring(['AlreadyExists'], () => client.create(namespaces, cluster, namespace, { unread: true }));
  }

  async function remove(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<number | void> {
    const finalizers = object.metadata.finalizers ?? [];
    const held = !isBeingEmptied(object);
    const metadata = metadataFor(object, options.shardName);
    // Nearly always it is gone in a moment, which is worth no write; whatever lasts is told by the removal.
    const isFree = !held && metadata?.finalizers === undefined && object.status?.phase !== 'Terminating';
    if (isFree && finalizers.includes(logicalClusterFinalizer)) return removal.remove(object, cluster);
    const status = { ...object.status, phase: held ? 'Terminating' : 'Deleting' };
    if (await updateStatus(client, logicalClusters, cluster, object, status as unknown as JsonObject)) return;
    if (metadata !== undefined)
      await ignoring(['NotFound'], () => client.update(logicalClusters, cluster, mutable(object, { metadata })));
  }
  return controller;
}

function settledPhase(object: DeepReadonly<LogicalCluster>, phase: Phase): Phase {
  const inactive = isMarkedInactive(object);
  if (phase === 'Ready' && inactive) return 'Inactive';
  return phase === 'Inactive' && !inactive ? 'Ready' : phase;
}

function initializedCondition(initializers: readonly string[]): Omit<KcpCondition, 'lastTransitionTime'> {
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
