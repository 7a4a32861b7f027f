import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  type APIBinding,
  type APIExport,
  type APIExportEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { EndpointSliceUrlReconciler, type EndpointSliceUrlModules } from './endpoint-slice-url-reconcile.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { bindingExportReference, referenceOfExport, sliceExportReference } from './export-reference.ts';

/**
 * Publishes the URL of this shard in the endpoint slices of all shards (kcp:
 * pkg/reconciler/apis/apiexportendpointsliceurls):
 *
 * ```
 *  first binding to the export on this shard ──► apply { endpoints: [own URL] } ──┐  to the slice, on whichever shard,
 *  last binding deleted                      ──► apply { }                      ──┘  as field manager <own shard>
 * ```
 *
 * Server-side apply keeps the entries of the shards apart. A slice is queued when it changes, when this shard gets its
 * first or loses its last binding to the export, and when the Shard object of this shard changes. When a slice's partition
 * no longer includes the shard, the URL stays as long as there are bindings: without it their provider would lose access.
 */
export function endpointSliceUrlController(
  options: { readonly shardName: string },
  modules: EndpointSliceUrlModules,
): Controller {
  const { informers, globalInformers, byExport } = modules;
  const slices = globalInformers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
  const slicesByExport = new ExportReferenceIndex({ referenceIn: sliceExportReference }, { informer: slices });
  const reconciler = new EndpointSliceUrlReconciler(options, modules);
  const controller: Controller = new Controller(
    { name: 'apiexportendpointslice-urls', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of slicesByExport.of(object, reference)) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({ added: enqueueOfExport });
  const enqueueOfBinding = (binding: DeepReadonly<APIBinding>, from: ObjectReference, threshold: number): void => {
    const object = reconciler.exportOf(bindingExportReference(binding), from.cluster);
    if (object === undefined) return;
    const reference = referenceOfExport(object);
    if (byExport.of(object, reference).size <= threshold) enqueueOfExport(object, reference);
  };
  informers.informer<APIBinding>(apiBindings).addHandlers({
    added: (binding, reference) => enqueueOfBinding(binding, reference, 1),
    deleted: (old, reference) => enqueueOfBinding(old, reference, 0),
  });
  const enqueueAll = (isLowPriority: boolean): void => {
    for (const { metadata } of slices.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }), isLowPriority);
    }
  };
  // Before, URLs without known bindings are not removed.
  void byExport.synced.then(() => enqueueAll(true));
  globalInformers.informer<Shard>(shards).addHandlers({
    added: (_shard, { name }) => {
      if (name === options.shardName) enqueueAll(false);
    },
    updated: (shard, old, { name }) => {
      if (name === options.shardName && publishedBy(shard) !== publishedBy(old)) enqueueAll(false);
    },
  });
  return controller;
}

/** The fields of a Shard that decide about its URLs. */
const publishedBy = ({ spec, metadata }: DeepReadonly<Shard>): string => JSON.stringify([spec, metadata.labels]);
