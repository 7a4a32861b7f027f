import { apiBindings, type APIBinding } from '@multiplane/apis';
import { Controller } from '../runtime/controller.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { APIBindingEnqueue } from './api-binding-enqueue.ts';
import { APIBindingReconciler, type APIBindingReconcilerModules, type BindResult } from './api-binding-reconcile.ts';
import { APIBindingStatusBuilder } from './api-binding-status.ts';
import { APIBindingStatusWriter, type APIBindingStatusWriterModules } from './api-binding-status-writer.ts';
import type { ExportReferenceIndex } from './export-reference-index.ts';

/** Definitions are usually established within this time; a longer wait is reported in the status. */
const silentWaitMs = 250;

export interface APIBindingControllerModules extends APIBindingReconcilerModules, APIBindingStatusWriterModules {
  readonly byExport: ExportReferenceIndex<APIBinding>;
}

/**
 * Binds APIs (kcp: pkg/reconciler/apis/apibinding). One pass of one binding:
 *
 * ```
 * find the export, its identity, its schemas ──► lock the names of its resources on the LogicalCluster
 *   ──► naming conflict with other definitions? ──► definition of each schema in `system:bound-crds` created, Established?
 *   ──► status: bound resources, conditions, phase
 * ```
 *
 * Each step is idempotent and depends on stored state only, so an interrupted pass is completed by the next one, in this
 * process or another replica. Everything that a pass waits for requeues the binding by an event; nothing is polled.
 *
 * Unlike kcp, a resource that the export drops is unbound and unlocked as soon as the logical cluster has no objects of it
 * (docs/adr/0060).
 */
export function apiBindingController(modules: APIBindingControllerModules): Controller {
  const { informers, clock } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const controller: Controller = new Controller({ name: 'apibinding', reconcile, workers: 16 }, modules);
  const { queue } = controller;
  const reconciler = new APIBindingReconciler({ ...modules, requeue: (key) => queue.add(key) });
  const statusWriter = new APIBindingStatusWriter(modules);
  new APIBindingEnqueue({ ...modules, queue, reconciler, statusWriter }).addHandlers();
  /** When bindings began to wait for definitions, by key. */
  const waitingSince = new Map<string, number>();

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const binding = bindings.get(reference);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) {
      reconciler.forget(key);
      waitingSince.delete(key);
      return;
    }
    const status = new APIBindingStatusBuilder(binding.status, new Date(clock.now()));
    let result: BindResult;
    try {
      result = await reconciler.bind(binding, reference, status);
    } catch (error) {
      status.summarize();
      await statusWriter.write(binding, reference, status.value);
      throw error;
    }
    if (result === 'waiting') {
      const since = waitingSince.get(key) ?? clock.monotonic();
      waitingSince.set(key, since);
      const left = since + silentWaitMs - clock.monotonic();
      if (left > 0) return left;
    } else {
      waitingSince.delete(key);
    }
    if (result !== 'conflict') status.summarize();
    await statusWriter.write(binding, reference, status.value);
  }
  return controller;
}
