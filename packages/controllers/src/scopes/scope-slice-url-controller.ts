import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiExportScopeEndpointSlices,
  apiExportScopes,
  type APIBinding,
  type APIExport,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { bindingExportReference, exportPath, referenceOfExport } from '../apis/export-reference.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { KeyIndex } from './key-index.ts';
import { scopeExportReference, scopeKeyOfSlice } from './scope-references.ts';
import { ScopeSliceUrlReconciler, type ScopeSliceUrlModules } from './scope-slice-url-reconcile.ts';

/**
 * Publishes the URL of this shard in the APIExportScopeEndpointSlices of all shards while this shard has bindings to the export
 * of the scope, as `endpoint-slice-url-controller.ts` does for those of exports: by server-side apply, as field manager
 * `<own shard>`. When a slice's partition no longer includes the shard, the URL stays as long as there are bindings.
 */
export function scopeSliceUrlController(
  options: { readonly shardName: string },
  modules: ScopeSliceUrlModules,
): Controller {
  const { informers, globalInformers, byExport, exports } = modules;
  const slices = globalInformers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices);
  const scopes = globalInformers.informer<APIExportScope>(apiExportScopes);
  const exportInformer = globalInformers.informer<APIExport>(apiExports);
  const shardInformer = globalInformers.informer<Shard>(shards);
  const scopesByExport = new ExportReferenceIndex({ referenceIn: scopeExportReference }, { informer: scopes });
  const slicesByScope = new KeyIndex({ textOf: scopeKeyOfSlice }, { informer: slices });
  const reconciler = new ScopeSliceUrlReconciler(options, modules);
  const controller: Controller = new Controller(
    { name: 'apiexportscopeendpointslice-urls', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOfScope = (key: string): void => {
    for (const slice of slicesByScope.of(key)) queue.add(slice);
  };
  scopes.addHandlers({
    added: (_scope, reference) => enqueueOfScope(keyOf(reference)),
    updated: (scope, old, reference) => {
      if (scope.status?.identityHash !== old.status?.identityHash) enqueueOfScope(keyOf(reference));
    },
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of scopesByExport.of(object, reference)) enqueueOfScope(key);
  };
  exportInformer.addHandlers({ added: enqueueOfExport });
  // Only the first binding to an export on this shard and the deletion of the last one change the endpoints.
  const enqueueOfBinding = (
    binding: DeepReadonly<APIBinding>,
    { cluster }: ObjectReference,
    threshold: number,
  ): void => {
    const object = exportOfBinding(binding, cluster);
    if (object === undefined) return;
    const reference = referenceOfExport(object);
    if (byExport.of(object, reference).size <= threshold) enqueueOfExport(object, reference);
  };
  informers.informer<APIBinding>(apiBindings).addHandlers({
    added: (binding, reference) => enqueueOfBinding(binding, reference, 1),
    deleted: (old, reference) => enqueueOfBinding(old, reference, 0),
  });
  const enqueueAll = (): void => {
    for (const { metadata } of slices.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }), true);
    }
  };
  // Before, URLs without known bindings are not removed.
  void byExport.synced.then(enqueueAll);
  shardInformer.addHandlers({
    added: (_shard, { name }) => {
      if (name === options.shardName) enqueueAll();
    },
    updated: (shard, old, { name }) => {
      if (name === options.shardName && publishedBy(shard) !== publishedBy(old)) enqueueAll();
    },
  });

  /** Undefined if the export does not exist or its path is ambiguous, which the conditions of the binding report. */
  function exportOfBinding(
    binding: DeepReadonly<APIBinding>,
    cluster: LogicalClusterName,
  ): DeepReadonly<APIExport> | undefined {
    const reference = bindingExportReference(binding);
    try {
      return exports.byPathAndName(exportPath(reference, cluster), reference.name ?? '');
    } catch {
      return undefined;
    }
  }
  return controller;
}

/** The fields of a Shard that decide about its URLs. */
const publishedBy = ({ spec, metadata }: DeepReadonly<Shard>): string => JSON.stringify([spec, metadata.labels]);
