import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  apiBindings,
  cachedResourceEndpointSlices,
  isCachedResourceStorage,
  virtualStorageOf,
  type APIBinding,
  type APIExport,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import {
  CachedResourceSliceUrlReconciler,
  type CachedResourceSliceUrlModules,
} from './cached-resource-slice-url-reconcile.ts';
import { referenceIn, SliceExports } from './slice-exports.ts';

/**
 * Publishes this shard's URL in the CachedResourceEndpointSlices of all shards while this shard has consumers, as the
 * controller of APIExportEndpointSlices does: one server-side apply per shard, with the shard's name as field manager, so
 * that shards do not overwrite each other's entries.
 */
export function cachedResourceSliceUrlController(
  options: { readonly shardName: string },
  modules: CachedResourceSliceUrlModules,
): Controller {
  const { informers, globalInformers, byExport } = modules;
  const slices = globalInformers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices);
  const sliceExports = new SliceExports({ globalInformers });
  const reconciler = new CachedResourceSliceUrlReconciler(options, modules);
  const controller: Controller = new Controller(
    { name: 'cachedresourceendpointslice-urls', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>): void => {
    const { cluster } = referenceIn(object);
    for (const resource of object.spec?.resources ?? []) {
      const virtual = virtualStorageOf(resource);
      if (virtual !== undefined && isCachedResourceStorage(virtual))
        queue.add(keyOf({ cluster, namespace: '', name: virtual.reference.name }));
    }
  };
  sliceExports.exports.addHandlers({
    added: enqueueOfExport,
    updated: (object, old) => {
      enqueueOfExport(object);
      enqueueOfExport(old);
    },
    deleted: enqueueOfExport,
  });
  // Only the first binding to an export on this shard and the deletion of the last one change the endpoints.
  const enqueueOfBinding = (
    binding: DeepReadonly<APIBinding>,
    { cluster }: ObjectReference,
    threshold: number,
  ): void => {
    const object = reconciler.exportOf(binding, cluster);
    if (object !== undefined && byExport.of(object, referenceIn(object)).size <= threshold) enqueueOfExport(object);
  };
  informers.informer<APIBinding>(apiBindings).addHandlers({
    added: (binding, reference) => enqueueOfBinding(binding, reference, 1),
    deleted: (old, reference) => enqueueOfBinding(old, reference, 0),
  });
  const enqueueAll = (): void => {
    for (const slice of slices.list()) queue.add(keyOf(referenceIn(slice)));
  };
  void byExport.synced.then(enqueueAll);
  globalInformers.informer<Shard>(shards).addHandlers({
    added: (_shard, { name }) => {
      if (name === options.shardName) enqueueAll();
    },
    updated: (shard, old, { name }) => {
      if (name === options.shardName && publishedBy(shard) !== publishedBy(old)) enqueueAll();
    },
  });
  return controller;
}

/** The fields of a Shard that decide about its URLs. */
const publishedBy = ({ spec, metadata }: DeepReadonly<Shard>): string => JSON.stringify([spec, metadata.labels]);
