import { apiBindings, type APIBinding } from '@multiplane/apis';
import { cachedResourceSliceController } from '../cache/cached-resource-slice-controller.ts';
import type { CachedResourceSliceModules } from '../cache/cached-resource-slice-reconcile.ts';
import { cachedResourceSliceUrlController } from '../cache/cached-resource-slice-url-controller.ts';
import type { Controller } from '../runtime/controller.ts';
import { scopeControllers } from '../scopes/scope-controllers.ts';
import type { ScopeReportModules } from '../scopes/scope-report-controller.ts';
import { apiBindingController, type APIBindingControllerModules } from './api-binding-controller.ts';
import { apiBindingDeletionController } from './api-binding-deletion-controller.ts';
import { apiConversionController } from './api-conversion-controller.ts';
import { crdCleanupController } from './crd-cleanup-controller.ts';
import { endpointSliceController } from './endpoint-slice-controller.ts';
import { endpointSliceUrlController } from './endpoint-slice-url-controller.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { bindingExportReference } from './export-reference.ts';
import { extraAnnotationsController } from './extra-annotations-controller.ts';
import { resourceLockController } from './resource-lock-controller.ts';
import { virtualStorageController } from './virtual-storage-controller.ts';
import type { VirtualStorageModules } from './virtual-storage-reconcile.ts';

/** The controllers of APIBindings, APIExportEndpointSlices and scopes, over one shared index of bindings by export. */
export function apiSharingControllers(
  options: { readonly shardName: string },
  modules: Omit<
    ScopeReportModules & APIBindingControllerModules & CachedResourceSliceModules & VirtualStorageModules,
    'byExport'
  >,
): Controller[] {
  const byExport = new ExportReferenceIndex(
    { referenceIn: bindingExportReference },
    { informer: modules.informers.informer<APIBinding>(apiBindings) },
  );
  return [
    apiBindingController({ ...modules, byExport }),
    apiBindingDeletionController(modules),
    apiConversionController(modules),
    crdCleanupController(modules),
    extraAnnotationsController({ ...modules, byExport }),
    resourceLockController(modules),
    endpointSliceController(modules),
    endpointSliceUrlController(options, { ...modules, byExport }),
    ...(modules.cacheApis
      ? [cachedResourceSliceController(modules), cachedResourceSliceUrlController(options, { ...modules, byExport })]
      : []),
    virtualStorageController(modules),
    ...scopeControllers(options, { ...modules, byExport }),
  ];
}
