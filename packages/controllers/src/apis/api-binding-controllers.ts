import { apiBindings, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, PathAndNameLookup } from '@multiplane/client';
import type { Controller, ControllerModules } from '../runtime/controller.ts';
import { apiBindingController } from './api-binding-controller.ts';
import { apiBindingDeletionController } from './api-binding-deletion-controller.ts';
import { apiConversionController } from './api-conversion-controller.ts';
import { BindingsByExport } from './bindings-by-export.ts';
import { boundDefinitionCleanupController } from './bound-definition-cleanup-controller.ts';
import { extraAnnotationsController } from './extra-annotations-controller.ts';
import { resourceLockController } from './resource-lock-controller.ts';

interface Modules extends ControllerModules {
  readonly globalInformers: InformerSource;
  readonly exports: PathAndNameLookup<APIExport>;
}

/** All that keeps bindings (C5.11, C5.15), over one index of which bindings an export has. */
export function apiBindingControllers(modules: Modules): Controller[] {
  const byExport = new BindingsByExport({ bindings: modules.informers.informer<APIBinding>(apiBindings) });
  return [
    apiBindingController({ ...modules, byExport }),
    apiBindingDeletionController(modules),
    apiConversionController(modules),
    boundDefinitionCleanupController(modules),
    extraAnnotationsController({ ...modules, byExport }),
    resourceLockController(modules),
  ];
}
