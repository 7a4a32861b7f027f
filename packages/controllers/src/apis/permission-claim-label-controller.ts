import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, ExportLabelValues, type APIBinding } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ClaimedResourceExistence } from './claimed-resource-existence.ts';
import {
  ObjectLabeler,
  relabelDelayMs,
  type NamedObject,
  type ObjectLabelerModules,
} from './permission-claim-labeler.ts';
import {
  acceptedClaims,
  appliedClaims,
  hasNoClaims,
  lacksExportLabel,
  PermissionClaimReconciler,
  referringClaims,
} from './permission-claim-label-reconcile.ts';

export interface PermissionClaimModules extends ObjectLabelerModules {
  /** Informers of the objects of all shards. */
  readonly globalInformers: InformerSource;
}

/**
 * Applies accepted permission claims (kcp: pkg/reconciler/apis/permissionclaimlabel): the objects of a consumer get the
 * labels by which the APIExport virtual workspace of the provider selects them as soon as a claim is accepted, and lose
 * them when it is rejected, changed or withdrawn, or when the binding is deleted.
 *
 * Admission computes the labels; the controllers only find mislabeled objects and write each with an empty patch.
 * `status.appliedPermissionClaims` changes when all objects of a claim are labeled, so that it shows the remaining work
 * after a crash.
 *
 * A request that was admitted under the old claims may be stored after the objects were listed, so they are checked a
 * second time a moment later. Returns three controllers: one by binding, one by resource for the second check and for deleted
 * bindings, and one by object for claims with references, whose objects enter and leave when others name them.
 */
export function permissionClaimControllers(modules: PermissionClaimModules): Controller[] {
  const exportLabels = new ExportLabelValues();
  const labeler = new ObjectLabeler(modules);
  const byResource: Controller = new Controller(
    { name: 'resource-permissionclaimlabel', reconcile: reconcileResource },
    modules,
  );
  const enqueueResource = (
    cluster: LogicalClusterName,
    { group = '', resource }: { readonly group?: string; readonly resource: string },
    delayMs: number,
  ): void => byResource.queue.addAfter(keyOf({ cluster, namespace: group, name: resource }), delayMs);
  const reconciler = new PermissionClaimReconciler({
    ...modules,
    labeler,
    existence: new ClaimedResourceExistence({ ...modules, changed: (key) => byBinding.queue.add(key) }),
    exportLabels,
    recheck: (cluster, claim) => enqueueResource(cluster, claim, relabelDelayMs),
  });
  const byBinding: Controller = new Controller(
    { name: 'permissionclaimlabel', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const byObject: Controller = new Controller(
    { name: 'object-permissionclaimlabel', reconcile: reconcileObject },
    modules,
  );
  modules.objects.onNamed((object) => {
    const key = namedObjectKey(object);
    byObject.queue.add(key);
    // A request that was admitted before the reference counted may be stored after the first pass.
    byObject.queue.addAfter(key, relabelDelayMs);
  });
  const enqueue = (binding: DeepReadonly<APIBinding>, reference: ObjectReference): void => {
    // Most bindings have no claims and are created with a status that says so.
    if (!hasNoClaims(binding) || lacksExportLabel(binding, exportLabels)) byBinding.queue.add(keyOf(reference));
  };
  modules.informers.informer<APIBinding>(apiBindings).addHandlers({
    added: (binding, reference) => {
      enqueue(binding, reference);
      // What was named, or no longer was, while no controllers ran.
      for (const claim of referringClaims(binding)) enqueueResource(reference.cluster, claim, 0);
    },
    updated: (binding, _old, reference) => enqueue(binding, reference),
    deleted: (old, reference) => {
      const { cluster } = reference;
      byBinding.queue.add(keyOf(reference));
      for (const claim of [...acceptedClaims(old).values(), ...appliedClaims(old).values()])
        enqueueResource(cluster, claim, 0);
    },
  });

  async function reconcileResource(key: string): Promise<number | void> {
    const { cluster, namespace: group, name: resource } = referenceOf(key);
    const { written, isIncomplete, errors } = await labeler.label(cluster, { group, resource });
    if (errors[0] !== undefined) throw new Error(errors[0]);
    if (isIncomplete) return 0;
    return written > 0 ? relabelDelayMs : undefined;
  }
  async function reconcileObject(key: string): Promise<void> {
    const error = await labeler.labelOne(JSON.parse(key) as NamedObject);
    if (error !== undefined) throw new Error(error);
  }
  return [byBinding, byResource, byObject];
}

const namedObjectKey = ({ cluster, claimed: { group, resource }, namespace, name }: NamedObject): string =>
  JSON.stringify({ cluster, claimed: { group, resource }, namespace, name });
