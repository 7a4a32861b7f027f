import {
  apiExports,
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  cachedResources,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import {
  hasVirtualResources,
  VirtualStorageReconciler,
  type VirtualStorageModules,
} from './virtual-storage-reconcile.ts';

/**
 * Maintains the condition `VirtualStorageValid` of APIExports with virtual resources: every `storage.virtual` refers to an
 * existing endpoint slice, and a CachedResource behind it has the identity and the schema that the export gives. kcp has
 * no such condition; exports without virtual resources do not get it. It also copies the endpoints of slices of the
 * provider's own kinds into `status.virtualResources`.
 */
export function virtualStorageController(modules: VirtualStorageModules): Controller {
  const { informers, globalInformers } = modules;
  const exports = informers.informer<APIExport>(apiExports);
  const reconciler = new VirtualStorageReconciler({
    ...modules,
    onSliceChange: (reference) => enqueueCluster(undefined, reference),
  });
  const controller: Controller = new Controller(
    { name: 'apiexport-virtual-storage', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;

  exports.addHandlers({
    added: (object, reference, isInInitialList) => {
      if (hasVirtualResources(object)) queue.add(keyOf(reference), isInInitialList);
    },
    updated: (object, old, reference) => {
      if (hasVirtualResources(object) || hasVirtualResources(old)) queue.add(keyOf(reference));
    },
    deleted: (old, reference) => {
      if (hasVirtualResources(old)) queue.add(keyOf(reference));
    },
  });
  const enqueueCluster = (_object: unknown, { cluster }: ObjectReference): void => {
    for (const object of exports.list({ cluster }))
      if (hasVirtualResources(object)) queue.add(keyOf({ cluster, namespace: '', name: object.metadata.name ?? '' }));
  };
  const onAnyChange = {
    added: enqueueCluster,
    updated: (object: unknown, _old: unknown, reference: ObjectReference) => enqueueCluster(object, reference),
    deleted: enqueueCluster,
  };
  informers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices).addHandlers(onAnyChange);
  globalInformers
    .informer<APIResourceSchema>(apiResourceSchemas)
    .addHandlers({ added: enqueueCluster, deleted: enqueueCluster });
  globalInformers.informer<CachedResource>(cachedResources).addHandlers({
    added: enqueueCluster,
    updated: (object, old, reference) => {
      if (object.status?.identityHash !== old.status?.identityHash || object.spec !== old.spec)
        enqueueCluster(object, reference);
    },
    deleted: enqueueCluster,
  });
  return controller;
}
