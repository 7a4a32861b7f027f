import type { DeepReadonly } from '@multiplane/apimachinery';
import { apiBindings, formatLocks, keepLocks, locksOf, type APIBinding, type ResourceLock } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import {
  areBindingsPending,
  largeLockCount,
  lockAnnotationOf,
  ResourceLockReconciler,
} from './resource-lock-reconcile.ts';
import { lockNameOf } from './resource-lock-writer.ts';

/**
 * Keeps the locks on resource names in the annotation of each LogicalCluster consistent (kcp:
 * pkg/reconciler/apis/logicalclustercleanup): the annotation exists, the locks of a binding are removed with the binding,
 * an established CRD holds a lock, and a CRD that is deleted or does not appear before its lock expires holds none.
 *
 * Handlers check the names that an event concerns and queue the logical cluster only if one is wrong. All names are
 * checked when a logical cluster appears or leaves a phase, and by a reconcile. A pass costs as much as there are locks,
 * so logical clusters with very many are reconciled a few times a second at most.
 *
 * Unlike in kcp, the name of a deleted CRD becomes free.
 */
export function resourceLockController(modules: ControllerModules): Controller {
  const { informers } = modules;
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const reconciler = new ResourceLockReconciler(modules);
  const controller: Controller = new Controller(
    { name: 'resource-locks', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );

  const checkAll = (object: DeepReadonly<LogicalCluster>, reference: ObjectReference): void => {
    // The locks of a logical cluster that is deleted are removed with it.
    if (object.metadata.deletionTimestamp !== undefined) return;
    if (locksOf(object).size > largeLockCount || !reconciler.areAllCorrect(object, reference))
      controller.queue.add(keyOf(reference));
  };
  const checkNames = (
    object: DeepReadonly<LogicalCluster>,
    reference: ObjectReference,
    names: readonly string[],
  ): void => {
    if (object.metadata.deletionTimestamp !== undefined) return;
    const locks = locksOf(object);
    const areCorrect =
      (lockAnnotationOf(object) ?? '') !== '' &&
      names.every((name) => reconciler.isCorrect(object, reference, name, locks.get(name)));
    if (!areCorrect) controller.queue.add(keyOf(reference));
  };
  clusters.addHandlers({
    added: checkAll,
    updated: (object, old, reference) => {
      const hasLeftPhase = areBindingsPending(object) !== areBindingsPending(old);
      if (lockAnnotationOf(object) === lockAnnotationOf(old)) {
        keepLocks(old, object);
        if (hasLeftPhase) checkAll(object, reference);
        return;
      }
      const isCanonical = formatLocks(locksOf(object)) === lockAnnotationOf(object);
      if (!isCanonical || hasLeftPhase) checkAll(object, reference);
      else checkNames(object, reference, changedNames(locksOf(old), locksOf(object)));
    },
  });
  informers.informer<APIBinding>(apiBindings).addHandlers({
    deleted: (_old, { cluster }) => {
      const reference = logicalClusterReference(cluster);
      const object = clusters.get(reference);
      if (object !== undefined) checkAll(object, reference);
    },
  });
  const checkDefinition = (definition: DeepReadonly<CustomResourceDefinition>, { cluster }: ObjectReference): void => {
    const reference = logicalClusterReference(cluster);
    const object = clusters.get(reference);
    if (object !== undefined) checkNames(object, reference, [lockNameOf(definition)]);
  };
  informers.informer<CustomResourceDefinition>(crds).addHandlers({
    added: checkDefinition,
    updated: (definition, old, reference) => {
      if (isEstablished(definition) !== isEstablished(old)) checkDefinition(definition, reference);
    },
    deleted: checkDefinition,
  });
  return controller;
}

const logicalClusterReference = (cluster: ObjectReference['cluster']): ObjectReference => ({
  cluster,
  namespace: '',
  name: logicalClusterObjectName,
});

function changedNames(
  before: ReadonlyMap<string, ResourceLock>,
  now: ReadonlyMap<string, ResourceLock>,
): readonly string[] {
  const changed = [...now.keys()].filter((name) => !isSame(before.get(name), now.get(name)));
  for (const name of before.keys()) if (!now.has(name)) changed.push(name);
  return changed;
}

const isSame = (one: ResourceLock | undefined, other: ResourceLock | undefined): boolean =>
  one === other || (one?.n === other?.n && one?.c === other?.c && one?.e === other?.e);
