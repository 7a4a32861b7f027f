import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  cachedResources,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { partitions, type Partition } from '../topology/kinds.ts';
import { CachedResourceSliceReconciler, type CachedResourceSliceModules } from './cached-resource-slice-reconcile.ts';
import { referenceIn, SliceExports } from './slice-exports.ts';

/**
 * Sets the conditions of CachedResourceEndpointSlices (`ResourceValid`, `APIExportValid`, `PartitionValid`) and
 * `status.shardSelector`, as kcp's `kcp-cachedresourceendpointslice`. The first condition that fails ends the pass and
 * removes the endpoints. Beyond kcp, `APIExportValid` also says when identity or schema of the export do not fit.
 */
export function cachedResourceSliceController(modules: CachedResourceSliceModules): Controller {
  const { informers, globalInformers } = modules;
  const slices = informers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices);
  const sliceExports = new SliceExports({ globalInformers });
  const reconciler = new CachedResourceSliceReconciler(modules);
  const controller: Controller = new Controller(
    { name: 'cachedresourceendpointslice', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  // A logical cluster has few slices, so each change of what they may refer to queues all of them.
  const enqueueCluster = ({ cluster }: ObjectReference): void => {
    for (const { metadata } of slices.list({ cluster }))
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
  };
  const onAnyChange = {
    added: (_object: unknown, reference: ObjectReference) => enqueueCluster(reference),
    updated: (_object: unknown, _old: unknown, reference: ObjectReference) => enqueueCluster(reference),
    deleted: (_old: unknown, reference: ObjectReference) => enqueueCluster(reference),
  };
  sliceExports.exports.addHandlers(onAnyChange);
  informers.informer<Partition>(partitions).addHandlers(onAnyChange);
  globalInformers
    .informer<APIResourceSchema>(apiResourceSchemas)
    .addHandlers({ added: onAnyChange.added, deleted: onAnyChange.deleted });
  // A slice may refer to a CachedResource of another logical cluster by path, so slices are matched by the name alone.
  const enqueueOfResource = (_object: unknown, { name }: ObjectReference): void => {
    for (const slice of slices.list())
      if (slice.spec?.cachedResource.name === name) queue.add(keyOf(referenceIn(slice)));
  };
  globalInformers.informer<CachedResource>(cachedResources).addHandlers({
    added: enqueueOfResource,
    updated: (object, old, reference) => {
      if (JSON.stringify(conditionInputs(object)) !== JSON.stringify(conditionInputs(old)))
        enqueueOfResource(object, reference);
    },
    deleted: enqueueOfResource,
  });
  return controller;
}

/** The fields of a CachedResource that the conditions depend on. Its counts change often and are not among them. */
const conditionInputs = ({ metadata, spec, status }: DeepReadonly<CachedResource>): unknown => [
  spec,
  metadata.annotations,
  metadata.deletionTimestamp,
  status?.identityHash,
];
