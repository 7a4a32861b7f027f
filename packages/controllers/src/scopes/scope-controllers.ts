import type { Controller } from '../runtime/controller.ts';
import { scopeController } from './scope-controller.ts';
import { scopeReportController, type ScopeReportModules } from './scope-report-controller.ts';
import { scopeSetController } from './scope-set-controller.ts';
import { scopeSliceController } from './scope-slice-controller.ts';
import { scopeSliceUrlController } from './scope-slice-url-controller.ts';

/** The controllers of the kinds of `scopes.multiplane.dev`. */
export function scopeControllers(options: { readonly shardName: string }, modules: ScopeReportModules): Controller[] {
  return [
    scopeController(modules),
    scopeSetController(modules),
    scopeSliceController(modules),
    scopeSliceUrlController(options, modules),
    scopeReportController(options, modules),
  ];
}
