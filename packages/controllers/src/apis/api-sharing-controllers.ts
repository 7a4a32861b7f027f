import { apiBindings, type APIBinding } from '@multiplane/apis';
import type { Controller } from '../runtime/controller.ts';
import { apiBindingController, type APIBindingControllerModules } from './api-binding-controller.ts';
import { apiBindingDeletionController } from './api-binding-deletion-controller.ts';
import { apiConversionController } from './api-conversion-controller.ts';
import { boundDefinitionCleanupController } from './bound-definition-cleanup-controller.ts';
import { endpointSliceController } from './endpoint-slice-controller.ts';
import { endpointUrlController, type EndpointUrlModules } from './endpoint-url-controller.ts';
import { ExportReferrers, exportOfBinding } from './export-finder.ts';
import { extraAnnotationsController } from './extra-annotations-controller.ts';
import { resourceLockController } from './resource-lock-controller.ts';

/** All that keeps bindings and endpoint slices (C5.11, C5.14, C5.15), over one index of which bindings an export has. */
export function apiSharingControllers(
  options: { readonly shardName: string },
  modules: Omit<EndpointUrlModules & APIBindingControllerModules, 'byExport'>,
): Controller[] {
  const byExport = new ExportReferrers(
    { exportOf: exportOfBinding },
    { informer: modules.informers.informer<APIBinding>(apiBindings) },
  );
  return [
    apiBindingController({ ...modules, byExport }),
    apiBindingDeletionController(modules),
    apiConversionController(modules),
    boundDefinitionCleanupController(modules),
    extraAnnotationsController({ ...modules, byExport }),
    resourceLockController(modules),
    endpointSliceController(modules),
    endpointUrlController(options, { ...modules, byExport }),
  ];
}
