import {
  foregroundFinalizer,
  orphanFinalizer,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { AbsentOwners } from './absent-owners.ts';
import { DependentsIndex } from './dependents-index.ts';
import { InvalidOwnerEvents } from './invalid-owner-events.ts';
import { GarbageCollectorReconciler, type GarbageCollectorModules } from './garbage-collector-reconcile.ts';

/** Kinds that are never collected: they are numerous, short-lived and have no owners. */
const ignoredResources = new Set(['events']);

/**
 * Deletes objects whose owners are gone (Kubernetes: pkg/controller/garbagecollector). One collector for all logical
 * clusters; owner references never cross them.
 *
 * Only objects with owner references are kept in memory, by owner uid. Keys are of three kinds:
 *
 * - `d:` a *dependent* whose owners changed. Its owners are read live. It is kept if one exists, and dangling references
 *   are removed; deleted in the foreground if all remaining owners wait for their dependents; else deleted.
 * - `o:` an *owner* that is being deleted with `foregroundDeletion` or `orphan`: its dependents are deleted or lose their
 *   reference, then the finalizer is removed.
 * - `e:` a logical cluster with references to missing owners, for which events are created if they are in another namespace.
 *
 * Keys are processed only after the metadata informer has synced: an owner with unknown dependents would be removed without
 * orphaning them, and they would be collected. An owner whose kind is not served now may exist, so its dependents are kept
 * and checked again, unless its deletion was seen: a definition may be gone before the dependents of its objects are
 * processed. A virtual object as an owner keeps its dependents: it is not in the store, so its deletion is not noticed.
 */
export function garbageCollector(modules: GarbageCollectorModules): Controller {
  const index = new DependentsIndex();
  const absentOwners = new AbsentOwners();
  const controller: Controller = new Controller({ name: 'garbage-collector', workers: 8, reconcile }, modules);
  const enqueue = (key: string): void => controller.queue.add(key);
  const invalidOwners = new InvalidOwnerEvents({
    ...modules,
    requestLookUp: (cluster) => enqueue(`${eventsPrefix}${cluster}`),
  });
  const reconciler = new GarbageCollectorReconciler({
    ...modules,
    index,
    absentOwners,
    invalidOwners,
    enqueueDependent: (record) => enqueue(dependentKey(record)),
  });
  let hasSynced = false;
  /** Keys queued before the sync. */
  const deferred = new Set<string>();

  modules.informers.metadata.addHandlers({
    changed(record, old) {
      if (old === undefined) absentOwners.remove(record);
      if (record.isIndependent && (old === undefined || old.isIndependent)) return;
      if (ignoredResources.has(record.resource.resource)) return;
      index.set(record, old);
      const { ownerReferences: owners = [], deletionTimestamp, finalizers = [] } = record.metadata;
      if (deletionTimestamp !== undefined && finalizers.some(isCollectorFinalizer)) {
        index.remember(record);
        enqueue(ownerKey(record));
      }
      if (owners.length > 0 && !haveSameOwners(record, old)) enqueue(dependentKey(record));
      // A dependent that no longer blocks its owner, or is being deleted, may unblock it.
      if (owners.length > 0 && old !== undefined) enqueueWaitingOwners(record);
      // One that has lost its reference to an owner no longer blocks it either.
      if (old !== undefined && !haveSameOwners(record, old)) enqueueWaitingOwners(old);
    },
    deleted(old) {
      if (!index.hasAnyOf(old.cluster)) return;
      if (ignoredResources.has(old.resource.resource)) return;
      index.delete(old);
      const dependents = index.dependentsOf(old.cluster, old.uid);
      if (dependents.length > 0) {
        absentOwners.add(old);
        invalidOwners.ownerDeleted(old.cluster, old.uid);
      }
      for (const dependent of dependents) enqueue(dependentKey(dependent));
      if (!old.isIndependent) enqueueWaitingOwners(old);
    },
    synced() {
      hasSynced = true;
      for (const key of deferred) enqueue(key);
      deferred.clear();
    },
  });

  function enqueueWaitingOwners({ cluster, metadata }: ObjectMetadataRecord): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owner = index.waiting(cluster, uid);
      if (owner !== undefined) enqueue(ownerKey(owner));
    }
  }

  async function reconcile(key: string): Promise<number | void> {
    if (!hasSynced) {
      deferred.add(key);
      return;
    }
    if (key.startsWith(eventsPrefix)) return invalidOwners.lookUp(key.slice(eventsPrefix.length) as LogicalClusterName);
    const record = index.byKey(key.slice(ownerPrefix.length));
    if (record === undefined) return;
    return key.startsWith(ownerPrefix) ? reconciler.processOwner(record) : reconciler.processDependent(record);
  }
  return controller;
}

const ownerPrefix = 'o:';
const eventsPrefix = 'e:';
const dependentKey = (record: ObjectMetadataRecord): string => `d:${DependentsIndex.key(record)}`;
const ownerKey = (record: ObjectMetadataRecord): string => `${ownerPrefix}${DependentsIndex.key(record)}`;

const isCollectorFinalizer = (name: string): boolean => name === foregroundFinalizer || name === orphanFinalizer;

function haveSameOwners(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): boolean {
  if (old === undefined) return false;
  const uidsOf = ({ metadata }: DeepReadonly<ObjectMetadataRecord>): string =>
    (metadata.ownerReferences ?? []).map(({ uid }) => uid).join();
  return uidsOf(record) === uidsOf(old);
}
