import {
  apiExports,
  apiExportScopeEndpointSlices,
  apiExportScopes,
  scopeInForce,
  type APIExport,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { sliceUrlController, type SliceUrlModules } from '../apis/slice-url-controller.ts';
import type { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { KeyIndex } from './key-index.ts';
import { scopeExportReference, scopeKeyOfSlice, scopeUrl } from './scope-references.ts';

/** Publishes the URL of this shard's virtual workspace of a scope in APIExportScopeEndpointSlices. */
export function scopeSliceUrlController(
  { shardName }: { readonly shardName: string },
  modules: SliceUrlModules,
): Controller {
  const { globalInformers } = modules;
  const slices = globalInformers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices);
  const scopes = globalInformers.informer<APIExportScope>(apiExportScopes);
  const exports = globalInformers.informer<APIExport>(apiExports);
  const scopesByExport = new ExportReferenceIndex({ referenceIn: scopeExportReference }, { informer: scopes });
  const slicesByScope = new KeyIndex({ textOf: scopeKeyOfSlice }, { informer: slices });
  const controller = sliceUrlController<APIExportScopeEndpointSlice>(
    {
      name: 'apiexportscopeendpointslice-urls',
      shardName,
      resource: apiExportScopeEndpointSlices,
      exportsOf: (slice, reference) => {
        const scope = scopes.get(referenceOf(scopeKeyOfSlice(slice, reference)));
        const inForce = scope === undefined ? undefined : scopeInForce(scope);
        if (inForce === undefined) return [];
        const cluster = inForce.exportCluster as LogicalClusterName;
        const object = exports.get({ cluster, namespace: '', name: inForce.exportName });
        return object === undefined ? [] : [object];
      },
      slicesOf: (object, reference) =>
        Array.from(scopesByExport.of(object, reference)).flatMap((scope) => [...slicesByScope.of(scope)]),
      urlOf: (base, slice, { cluster }) => scopeUrl(base, cluster, slice.spec?.scope.name ?? ''),
    },
    modules,
  );
  const enqueueOfScope = (key: string): void => {
    for (const slice of slicesByScope.of(key)) controller.queue.add(slice);
  };
  scopes.addHandlers({
    added: (_scope, reference) => enqueueOfScope(keyOf(reference)),
    updated: (scope, old, reference) => {
      if (scope.status?.identityHash !== old.status?.identityHash) enqueueOfScope(keyOf(reference));
    },
  });
  return controller;
}
