import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { boundDefinitionsCluster } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import type { FaultyObject, ObjectFaults } from '@multiplane/component-base';
import { BoundNames } from '../apis/bound-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { CrdNameIndex } from './crd-name-index.ts';
import { crds, noTakenNames, type CustomResourceDefinition, type TakenNames } from './crd-names.ts';
import { CrdReconciler } from './crd-reconcile.ts';

interface CrdControllerOptions {
  /** Names of the built-in kinds of a group. */
  readonly builtInNames: (group: string) => {
    readonly resources: ReadonlySet<string>;
    readonly kinds: ReadonlySet<string>;
  };
}

/**
 * Accepts the names of CustomResourceDefinitions, establishes them, and deletes their objects before they are removed
 * (Kubernetes: apiextensions-apiserver/pkg/controller/{status,establish,finalizer}). Released names requeue the
 * definitions that wait for them. Names are accepted only after the informer has synced, because another definition may
 * hold them.
 */
export function crdController(
  options: CrdControllerOptions,
  modules: ControllerModules & { readonly faults?: Pick<ObjectFaults, 'of' | 'subscribe'> | undefined },
): Controller {
  const { informers } = modules;
  const lister = informers.informer<CustomResourceDefinition>(crds);
  const names = new CrdNameIndex();
  let hasSynced = false;
  /** Keys reconciled before the sync. */
  const deferred = new Set<string>();
  /** Keys of definitions that are being deleted. */
  const terminating = new Set<string>();
  const controller: Controller = new Controller(
    { name: 'customresourcedefinition', reconcile, subscribe: () => modules.faults?.subscribe(enqueueFaulty) },
    modules,
  );
  const { queue } = controller;
  const enqueueWaiting = (cluster: LogicalClusterName, group: string): void => {
    for (const name of names.waiting(cluster, group)) queue.add(keyOf({ cluster, namespace: '', name }));
  };
  const bound = new BoundNames({ informers, onReleased: enqueueWaiting });
  const reconciler = new CrdReconciler({ ...modules, bound, takenNames });

  const trackTermination = (crd: DeepReadonly<CustomResourceDefinition>, key: string): void => {
    if (crd.metadata.deletionTimestamp !== undefined) terminating.add(key);
    else terminating.delete(key);
  };
  lister.addHandlers({
    added: (crd, reference, isInInitialList) => {
      trackTermination(crd, keyOf(reference));
      if (hasSharedNames(reference)) names.set(reference.cluster, crd);
      queue.add(keyOf(reference), isInInitialList);
    },
    updated: (crd, old, reference) => {
      trackTermination(crd, keyOf(reference));
      queue.add(keyOf(reference));
      if (!hasSharedNames(reference)) return;
      names.delete(reference.cluster, old);
      names.set(reference.cluster, crd);
      enqueueWaiting(reference.cluster, crd.spec.group);
    },
    deleted: (crd, reference) => {
      terminating.delete(keyOf(reference));
      if (!hasSharedNames(reference)) return;
      names.delete(reference.cluster, crd);
      enqueueWaiting(reference.cluster, crd.spec.group);
    },
    synced: () => {
      hasSynced = true;
      for (const key of deferred) queue.add(key);
      deferred.clear();
    },
  });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster, resource }) => {
      if (terminating.size === 0) return;
      const key = keyOf({ cluster, namespace: '', name: `${resource.resource}.${resource.group}` });
      if (terminating.has(key)) queue.add(key);
    },
  });

  /** A fault is found when the definition is first served, which may be after its status was written. */
  function enqueueFaulty({ kind, cluster, name }: FaultyObject): void {
    if (kind === 'CustomResourceDefinition')
      queue.add(keyOf({ cluster: cluster as LogicalClusterName, namespace: '', name }));
  }

  /** Names that built-in kinds, other definitions of the logical cluster or APIBindings hold in the group. */
  function takenNames(crd: DeepReadonly<CustomResourceDefinition>, reference: ObjectReference): TakenNames {
    if (!hasSharedNames(reference)) return noTakenNames;
    const { cluster } = reference;
    const builtIn = options.builtInNames(crd.spec.group);
    const taken = [names.taken(cluster, crd), bound.taken(cluster, crd.spec.group)];
    return {
      resource: (name) => builtIn.resources.has(name) || taken.some((others) => others.resource(name)),
      kind: (name) => builtIn.kinds.has(name) || taken.some((others) => others.kind(name)),
    };
  }

  async function reconcile(key: string): Promise<number | void> {
    if (hasSynced || terminating.has(key)) return reconciler.reconcile(key);
    deferred.add(key);
  }
  return controller;
}

/** Definitions of bound schemas do not compete for names in `system:bound-crds`; conflicts are checked on binding. */
const hasSharedNames = ({ cluster }: ObjectReference): boolean => cluster !== boundDefinitionsCluster;
