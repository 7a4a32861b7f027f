import {
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindingFinalizer,
  apiBindings,
  boundDefinitionsCluster,
  lockName,
  type APIBinding,
  type BoundResource,
} from '@multiplane/apis';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { deleteContent, type RemainingContent } from '../core/delete-content.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, withChanges, updateStatus } from '../runtime/object-writes.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { BindingAdoption, type BindingAdoptionModules } from './binding-adoption.ts';
import { DeletionWaitIndex } from './deletion-wait-index.ts';

/** A fallback: deletions of objects and changes of the binding requeue it by events. */
const recheckMs = 5_000;

/**
 * Deletes the content of an APIBinding that is being deleted (kcp: pkg/reconciler/apis/apibindingdeletion): the objects of
 * its resources by deletecollection; the finalizer is removed when the last object is gone and no permission claim is
 * applied any more. Objects that another binding takes over ({@link BindingAdoption}) are not deleted. The names stay locked until the binding is gone, so that another binding never serves its objects.
 *
 * Virtual resources are stored by their provider. They have no storage versions, and their objects are not deleted.
 */
export function apiBindingDeletionController(modules: ControllerModules & BindingAdoptionModules): Controller {
  const { informers, client, clock } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const controller: Controller = new Controller({ name: 'apibinding-deletion', reconcile }, modules);
  const waits = new DeletionWaitIndex({ metadata: informers.metadata, requeue: (key) => controller.queue.add(key) });

  const adoption = new BindingAdoption({ ...modules, requeue: (key) => controller.queue.add(key) });

  bindings.addHandlers({
    added: (binding, reference) => {
      if (isDeleting(binding)) controller.queue.add(keyOf(reference));
    },
    updated: (binding, _old, reference) => {
      if (isDeleting(binding)) controller.queue.add(keyOf(reference));
    },
    deleted: (_old, reference) => waits.forget(keyOf(reference)),
  });
  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const { cluster } = reference;
    const binding = bindings.get(reference);
    if (binding === undefined || !isDeleting(binding)) return;
    const finalizers = binding.metadata.finalizers ?? [];
    if (!finalizers.includes(apiBindingFinalizer)) return;
    const stored = (binding.status?.boundResources ?? []).filter(
      ({ storageVersions = [] }) => storageVersions.length > 0,
    );
    const adopted = adoption.adoptedBy(binding, reference, stored);
    if (adopted === 'not-synced') return recheckMs;
    const deleted = stored.filter((resource) => !adopted.has(lockName(resource)));
    const served = new Map(deleted.map((resource) => [lockName(resource), servedAs(resource)]));
    waits.set(key, cluster, served.keys());
    const remaining = await deleteContent(
      {
        cluster,
        namespace: undefined,
        only: [...served.values()],
        servedAs: (resource) => served.get(lockName(resource)) ?? resource,
      },
      modules,
    );
    const isGone = remaining.failures.length === 0 && remaining.objects.size === 0;
    const isHeld = (binding.status?.appliedPermissionClaims ?? []).length > 0;
    // A success is not worth a write if the next one removes the finalizer.
    const written = isGone && !isHeld ? false : await writeCondition(binding, cluster, conditionOf(remaining));
    if (remaining.failures.length > 0) throw new Error(remaining.failures.join('; '));
    if (remaining.objects.size > 0) return recheckMs;
    // The event of the status write requeues the binding.
    if (written) return;
    // Claims stay applied until here, because the provider may need the claimed objects for its finalizers. The permission
    // claim controller removes them now.
    if (isHeld) return recheckMs;
    waits.forget(key);
    const metadata = { finalizers: finalizers.filter((name) => name !== apiBindingFinalizer) };
    await ignoreReasons(['NotFound'], () => client.update(apiBindings, cluster, withChanges(binding, { metadata })));
  }

  /** The resource in a served version: the storage version of old objects may not be served any more. */
  function servedAs({
    group,
    resource,
    schema,
    storageVersions = [],
  }: DeepReadonly<BoundResource>): GroupVersionResource {
    const cluster = boundDefinitionsCluster as LogicalClusterName;
    const { versions = [] } = definitions.get({ cluster, namespace: '', name: schema.UID })?.spec ?? {};
    const servable = versions.filter(({ served }) => served);
    const { name } = servable.find(({ storage }) => storage) ?? servable[0] ?? { name: storageVersions[0] ?? '' };
    return { group, version: name, resource };
  }

  function writeCondition(
    binding: DeepReadonly<APIBinding>,
    cluster: LogicalClusterName,
    condition: NewKcpCondition,
  ): Promise<boolean> {
    const conditions = setKcpCondition(binding.status?.conditions, condition, new Date(clock.now()));
    return updateStatus(client, apiBindings, cluster, binding, {
      ...binding.status,
      conditions,
    } as unknown as JsonObject);
  }
  return controller;
}

const isDeleting = ({ metadata }: DeepReadonly<APIBinding>): boolean => metadata.deletionTimestamp !== undefined;

function conditionOf({ objects, finalizers, failures }: RemainingContent): NewKcpCondition {
  const type = 'BindingResourceDeleteSuccess';
  const failed = { type, status: 'False', severity: 'Error' } as const;
  if (failures.length > 0) return { ...failed, reason: 'ResourceDeletionFailed', message: failures.join('; ') };
  if (finalizers.size > 0) {
    const texts = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    const message = `Some content in the workspace has finalizers remaining: ${texts.join(', ')}`;
    return { ...failed, reason: 'SomeFinalizersRemain', message };
  }
  if (objects.size > 0) {
    const texts = [...objects].map(([resource, count]) => `${resource} has ${count} resource instances`).sort();
    return { ...failed, reason: 'SomeResourcesRemain', message: `Some resources are remaining: ${texts.join(', ')}` };
  }
  return { type, status: 'True' };
}
