import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, cachedResourceEndpointSlices, cachedResources, type CachedResource } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import type { Runnable } from '@multiplane/component-base';
import { crds } from '../apiextensions/crd-names.ts';
import { secrets } from '../apis/api-export-identity.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import type { CacheMonitor } from './cache-monitor.ts';
import type { CachedObjectStore } from './cached-object-store.ts';
import { CachedResourceReconciler, type CachedResourceReconcilerModules } from './cached-resource-reconcile.ts';
import { CachedResourceReplicator } from './cached-resource-replicator.ts';
import { referenceIn } from './slice-exports.ts';

export interface CachedResourceModules extends CachedResourceReconcilerModules {
  readonly store: CachedObjectStore;
  /** Absent: the cache is in this process. */
  readonly cacheMonitor?: CacheMonitor | undefined;
  /** Resolves when the informers show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
}

/** Minimum interval between writes of the counts of one CachedResource. */
const progressMs = 200;

/**
 * Reconciles CachedResources, as kcp's `kcp-cached-resources-controller`:
 *
 * ```
 * CachedResourceEndpointSlice → finalizer, annotations (kind, scope) → identity secret → replication started
 * deleted: phase Deleting → published objects removed → phase Deleted → finalizer removed
 * ```
 *
 * A CachedResource is queued when it changes, when its identity secret changes, when its endpoint slice is deleted, when CRDs
 * or APIBindings of its logical cluster change, which decide whether the resource is served, and when the cache becomes
 * unreachable or reachable, which the condition CacheReachable reports. Returns two controllers: the one of CachedResources,
 * and the replicator's, which publishes the objects.
 */
export function cachedResourceController(
  options: { readonly shardName: string; readonly randomBytes: (size: number) => Buffer },
  modules: CachedResourceModules,
): Runnable[] {
  const { informers } = modules;
  const objects = informers.informer<CachedResource>(cachedResources);
  const controller: Controller = new Controller(
    { name: 'cachedresource', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;
  const replicator = new CachedResourceReplicator(options, {
    ...modules,
    onProgress: (key) => queue.addAfter(key, progressMs),
  });
  const reconciler = new CachedResourceReconciler(options, {
    ...modules,
    replicator,
    cacheOutage: () => modules.cacheMonitor?.outage,
  });
  modules.cacheMonitor?.onChange(() => {
    for (const object of objects.list()) queue.add(keyOf(referenceIn(object)));
  });

  objects.addHandlers({
    added: (_object, reference, isInInitialList) => queue.add(keyOf(reference), isInInitialList),
    updated: (_object, _old, reference) => queue.add(keyOf(reference)),
    deleted: (_old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueWhere = (
    cluster: LogicalClusterName,
    isAffected: (object: DeepReadonly<CachedResource>) => boolean = () => true,
  ): void => {
    for (const object of objects.list({ cluster }))
      if (isAffected(object)) queue.add(keyOf({ cluster, namespace: '', name: object.metadata.name ?? '' }));
  };
  const enqueueOfSecret = ({ cluster, namespace, name }: ObjectReference): void =>
    enqueueWhere(cluster, ({ spec }) => {
      const reference = spec?.identity?.secretRef;
      return reference?.name === name && reference.namespace === namespace;
    });
  informers.informer(secrets).addHandlers({
    added: (_object, reference) => enqueueOfSecret(reference),
    updated: (_object, _old, reference) => enqueueOfSecret(reference),
    deleted: (_old, reference) => enqueueOfSecret(reference),
  });
  for (const resource of [crds, apiBindings])
    informers.informer(resource).addHandlers({
      added: (_object, { cluster }, isInInitialList) => {
        if (!isInInitialList) enqueueWhere(cluster);
      },
      updated: (_object, _old, { cluster }) => enqueueWhere(cluster),
      deleted: (_old, { cluster }) => enqueueWhere(cluster),
    });
  informers.informer(cachedResourceEndpointSlices).addHandlers({
    deleted: (_old, { cluster, name }) => enqueueWhere(cluster, ({ metadata }) => metadata.name === name),
  });
  return [controller, replicator.controller];
}
