import type { DeepReadonly, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/update-status.ts';
import type { DefaultBindingWriter } from './default-binding-writer.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import {
  logicalClusterObjectName,
  logicalClusters,
  typeAnnotation,
  workspaceTypes,
  type LogicalCluster,
  type WorkspaceType,
} from './kinds.ts';

interface Modules extends ControllerModules {
  /** Types and exports of all shards. */
  readonly globalInformers: InformerSource;
  readonly defaultBindings: DefaultBindingWriter;
}

const retryMs = 5_000;

/**
 * Keeps the default bindings of types with lifecycle Maintain up with their types and exports (C5.7).
 *
 * Which logical clusters are of a type is indexed by the type's name, so that a change costs those it concerns; a change
 * of a type or an export that no maintained type has to do with costs a look at the types. A logical cluster is looked at
 * when it has become ready, when its types or their exports change, and when one of its bindings goes on or goes.
 */
export function defaultBindingLifecycleController(modules: Modules): Controller {
  const { informers, globalInformers, client, clock, defaultBindings } = modules;
  const lister = informers.informer<LogicalCluster>(logicalClusters);
  const controller: Controller = new Controller({ name: 'default-api-bindings', reconcile }, modules);
  const byType = new Map<string, Set<LogicalClusterName>>();
  /** Keys of what is not as it should be yet. */
  const waiting = new Set<string>();
  const keyIn = (cluster: LogicalClusterName): string =>
    keyOf({ cluster, namespace: '', name: logicalClusterObjectName });

  const typeOf = ({ metadata }: DeepReadonly<LogicalCluster>): string => metadata.annotations?.[typeAnnotation] ?? '';
  function remember(object: DeepReadonly<LogicalCluster>, { cluster }: ObjectReference): void {
    const type = typeOf(object);
    const members = byType.get(type);
    if (members === undefined) byType.set(type, new Set([cluster]));
    else members.add(cluster);
  }
  function forget(object: DeepReadonly<LogicalCluster>, reference: ObjectReference): void {
    const members = byType.get(typeOf(object));
    if (members?.delete(reference.cluster) === true && members.size === 0) byType.delete(typeOf(object));
    waiting.delete(keyOf(reference));
  }
  lister.addHandlers({
    added: (object, reference, wasThere) => {
      remember(object, reference);
      if (isSettled(object)) controller.queue.add(keyOf(reference), wasThere);
    },
    updated: (object, old, reference) => {
      if (typeOf(object) !== typeOf(old)) {
        forget(old, reference);
        remember(object, reference);
      }
      if (isSettled(object) && !isSettled(old)) controller.queue.add(keyOf(reference));
    },
    deleted: forget,
  });

  /** Adds what is of a type that maintains its bindings; all members of a type have the same ones. */
  function addMaintained(concerns: (object: DeepReadonly<LogicalCluster>) => boolean): void {
    for (const members of byType.values()) {
      const [example] = members;
      const object = example === undefined ? undefined : lister.get(referenceOf(keyIn(example)));
      if (object === undefined || !concerns(object)) continue;
      for (const cluster of members) controller.queue.add(keyIn(cluster));
    }
  }
  const types = globalInformers.informer<WorkspaceType>(workspaceTypes);
  const typeChanged = (): void => addMaintained((object) => defaultBindings.maintainedExports(object).length > 0);
  types.addHandlers({ updated: typeChanged });
  const exportChanged = (_object: DeepReadonly<APIExport>, { cluster, name }: ObjectReference): void =>
    addMaintained((object) => defaultBindings.maintains(object, cluster, name));
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
      // What goes, and everything in it, wants none back.
      if (object !== undefined && isSettled(object)) controller.queue.add(keyIn(cluster));
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = lister.get(reference);
    if (object === undefined || !isSettled(object)) {
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

/** Initialized, and not about to go: before, and while it waits, its default bindings are the initializer's business. */
function isSettled({ metadata, status }: DeepReadonly<LogicalCluster>): boolean {
  const phase = status?.phase ?? 'Scheduling';
  return metadata.deletionTimestamp === undefined && phase !== 'Scheduling' && phase !== 'Initializing';
}
