import type { DeepReadonly, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import type { DefaultBindingWriter } from './default-binding-writer.ts';
import { setKcpCondition } from '../runtime/kcp-conditions.ts';
import {
  logicalClusterObjectName,
  logicalClusters,
  typeAnnotation,
  workspaceTypes,
  type LogicalCluster,
  type WorkspaceType,
} from './kinds.ts';

interface Modules extends ControllerModules {
  /** Workspace types and exports of all shards. */
  readonly globalInformers: InformerSource;
  readonly defaultBindings: DefaultBindingWriter;
}

const retryMs = 5_000;

/**
 * Updates the default bindings of types with `defaultAPIBindingLifecycle: Maintain` when types or exports change (kcp:
 * pkg/reconciler/tenancy/defaultapibindinglifecycle).
 *
 * Logical clusters are indexed by type, so that a change only costs those of the types it affects. A logical cluster is
 * queued when it becomes Ready, when its types or their exports change, when a binding it waits for changes, and when one
 * of its bindings is deleted.
 */
export function defaultBindingLifecycleController(modules: Modules): Controller {
  const { informers, globalInformers, client, clock, defaultBindings } = modules;
  const lister = informers.informer<LogicalCluster>(logicalClusters);
  const controller: Controller = new Controller({ name: 'default-api-bindings', reconcile }, modules);
  const byType = new Map<string, Set<LogicalClusterName>>();
  /** Keys of logical clusters with incomplete bindings. */
  const waiting = new Set<string>();
  const keyIn = (cluster: LogicalClusterName): string =>
    keyOf({ cluster, namespace: '', name: logicalClusterObjectName });

  const typeOf = ({ metadata }: DeepReadonly<LogicalCluster>): string => metadata.annotations?.[typeAnnotation] ?? '';
  function index(object: DeepReadonly<LogicalCluster>, { cluster }: ObjectReference): void {
    const type = typeOf(object);
    const members = byType.get(type);
    if (members === undefined) byType.set(type, new Set([cluster]));
    else members.add(cluster);
  }
  function unindex(object: DeepReadonly<LogicalCluster>, reference: ObjectReference): void {
    const members = byType.get(typeOf(object));
    if (members?.delete(reference.cluster) === true && members.size === 0) byType.delete(typeOf(object));
    waiting.delete(keyOf(reference));
  }
  lister.addHandlers({
    added: (object, reference, isInInitialList) => {
      index(object, reference);
      if (isInitialized(object)) controller.queue.add(keyOf(reference), isInInitialList);
    },
    updated: (object, old, reference) => {
      if (typeOf(object) !== typeOf(old)) {
        unindex(old, reference);
        index(object, reference);
      }
      if (isInitialized(object) && !isInitialized(old)) controller.queue.add(keyOf(reference));
    },
    deleted: unindex,
  });

  /** Queues the logical clusters of types with affected maintained bindings; one member decides for its type. */
  function enqueueMaintained(isAffected: (object: DeepReadonly<LogicalCluster>) => boolean): void {
    for (const members of byType.values()) {
      const [example] = members;
      const object = example === undefined ? undefined : lister.get(referenceOf(keyIn(example)));
      if (object === undefined || !isAffected(object)) continue;
      for (const cluster of members) controller.queue.add(keyIn(cluster));
    }
  }
  const types = globalInformers.informer<WorkspaceType>(workspaceTypes);
  const typeChanged = (): void => enqueueMaintained((object) => defaultBindings.maintainedExports(object).length > 0);
  types.addHandlers({ updated: typeChanged });
  const exportChanged = (_object: DeepReadonly<APIExport>, { cluster, name }: ObjectReference): void =>
    enqueueMaintained((object) => defaultBindings.maintains(object, cluster, name));
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: exportChanged,
    updated: (object, _old, reference) => exportChanged(object, reference),
  });
  informers.informer<APIBinding>(apiBindings).addHandlers({
    updated: (_object, _old, { cluster }) => {
      if (waiting.has(keyIn(cluster))) controller.queue.add(keyIn(cluster));
    },
    deleted: (_old, { cluster }) => {
      const object = lister.get(referenceOf(keyIn(cluster)));
      // Not while the logical cluster is being deleted.
      if (object !== undefined && isInitialized(object)) controller.queue.add(keyIn(cluster));
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = lister.get(reference);
    if (object === undefined || !isInitialized(object)) {
      waiting.delete(key);
      return;
    }
    const condition = await defaultBindings.maintain(object, reference.cluster);
    if (condition === undefined) return;
    if (condition.status === 'True') waiting.delete(key);
    else waiting.add(key);
    const conditions = setKcpCondition(object.status?.conditions, condition, new Date(clock.now()));
    const status = { ...object.status, conditions } as unknown as JsonObject;
    await updateStatus(client, logicalClusters, reference.cluster, object, status);
    return condition.status === 'True' ? undefined : retryMs;
  }
  return controller;
}

/** Whether a logical cluster is initialized and not being deleted. Before, the initializer creates the bindings. */
function isInitialized({ metadata, status }: DeepReadonly<LogicalCluster>): boolean {
  const phase = status?.phase ?? 'Scheduling';
  return metadata.deletionTimestamp === undefined && phase !== 'Scheduling' && phase !== 'Initializing';
}
