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
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { setKcpCondition, type KcpCondition } from '../tenancy/kcp-conditions.ts';
import { ObjectWaits } from './object-waits.ts';

/** What goes by an event brings the binding back at once; this is for what was missed. */
const recheckMs = 5_000;

/**
 * Empties a binding that is deleted (C5.15): the objects of its resources go, each kind as a collection, and when the
 * last of them is gone and nobody claims anything through it any more, the finalizer goes. The names stay locked until
 * the binding itself is gone, so that nobody meets objects that are not his.
 *
 * What is stored elsewhere (virtual resources) has no storage versions and is not touched.
 */
export function apiBindingDeletionController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const controller: Controller = new Controller({ name: 'apibinding-deletion', reconcile }, modules);
  const waits = new ObjectWaits({ metadata: informers.metadata, again: (key) => controller.queue.add(key) });

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
    const served = new Map(stored.map((resource) => [lockName(resource), servedAs(resource)]));
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
    // Nobody would see that all is well of what goes with the next write.
    const written = isGone && !isHeld ? false : await tell(binding, cluster, conditionOf(remaining));
    if (remaining.failures.length > 0) throw new Error(remaining.failures.join('; '));
    if (remaining.objects.size > 0) return recheckMs;
    // The change of the status comes back as an event, and with it this key.
    if (written) return;
    // Claims hold until here: who provides the API may need what he claimed to clean up. Their controller takes them back now.
    if (isHeld) return recheckMs;
    waits.forget(key);
    const metadata = { finalizers: finalizers.filter((name) => name !== apiBindingFinalizer) };
    await ignoring(['NotFound'], () => client.update(apiBindings, cluster, mutable(binding, { metadata })));
  }

  /** Objects may be stored in a version that nobody serves any more; all of them go by one that is served. */
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

  function tell(
    binding: DeepReadonly<APIBinding>,
    cluster: LogicalClusterName,
    condition: Omit<KcpCondition, 'lastTransitionTime'>,
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

function conditionOf({ objects, finalizers, failures }: RemainingContent): Omit<KcpCondition, 'lastTransitionTime'> {
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
