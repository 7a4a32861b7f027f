import {
  type DeepReadonly,
  type Json,
  type KubeObject,
  asJson,
  deepCopy,
  foregroundFinalizer,
  orphanFinalizer,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, Strategy } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { metadataTime } from '../registry/codec/metadata-time.ts';
import { encodeForStorage } from '../registry/codec/object-codec.ts';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import { keyOf } from '../registry/store/object-key.ts';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { admissionAttributes } from './admission-attributes.ts';
import { beginAttempt } from './begin-attempt.ts';
import { guaranteedUpdate } from './guaranteed-update.ts';
import { strategyContext } from './strategy.ts';
import type { WriteRequest } from './write-request.ts';
import type { UpdateOutcome } from './write-result.ts';

export interface DeleteObjectOptions {
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly propagationPolicy?: string | undefined;
  /** One of a collection that is deleted: admission sees the object, but no name, as in Kubernetes. */
  readonly isInCollection?: true | undefined;
  /** Deprecated form of the policy; takes precedence over it. */
  readonly orphanDependents?: boolean | undefined;
}

export interface DeleteOutcome extends UpdateOutcome {
  /** The object after the call: marked for deletion, or its last state. */
  readonly object: DeepReadonly<KubeObject>;
  readonly removed: boolean;
  /** About the length of the object in bytes. */
  readonly size: number;
}

/** DELETE: checks preconditions, runs admission, then removes the object, or marks it for deletion if it has finalizers. */
export async function deleteObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  options: DeleteObjectOptions,
): Promise<DeleteOutcome> {
  const key = keyOf(request.definition, request);
  return guaranteedUpdate(key, request, modules, (existing) => {
    if (existing === undefined) throw statusErrors.notFound(groupResourceOf(request.definition), request.name);
    return attempt(modules, request, key, existing, options);
  });
}

async function attempt(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry,
  options: DeleteObjectOptions,
): Promise<DeleteOutcome> {
  const { definition } = request;
  const { strategy } = definition;
  beginAttempt(modules, request, existing);
  if (canRemoveDirectly(modules, request, existing, options))
    return removeDirectly(modules, request, key, existing, options);
  const old = await modules.reader.read(definition, existing, request);
  checkPreconditions(request, old, options);
  // A namespace that is terminating is left alone until its content is gone.
  if (old.metadata.deletionTimestamp !== undefined && strategy.isHeld?.(old) === true)
    return { object: old, removed: false, size: existing.value.length, unchanged: true };
  const attributes = admissionAttributes(request, 'DELETE', nameForAdmission(request, options), undefined, old);
  await modules.admission.admit(attributes);
  await modules.admission.validate(attributes);

  const object = copyForMarking(old);
  const { metadata } = object;
  const held =
    metadata.deletionTimestamp === undefined
      ? [...(metadata.finalizers ?? []), ...(strategy.finalizersOfDeletion?.(object) ?? [])]
      : (metadata.finalizers ?? []);
  const finalizers = finalizersAfter(strategy, held, options);
  let changed = !sameSet(finalizers, metadata.finalizers ?? []);
  if (changed) {
    if (finalizers.length === 0) delete metadata.finalizers;
    else metadata.finalizers = finalizers;
  }
  const now = modules.clock.now();
  if (strategy.beginDeletion !== undefined && metadata.deletionTimestamp === undefined) {
    // Kinds that are finalized by a controller (Namespace, CRD) are always marked first, and set their own phase.
    metadata.deletionTimestamp = metadataTime(now);
    strategy.beginDeletion(
      strategyContext(request, () => new Date(now)),
      object,
    );
    changed = true;
  } else if (
    strategy.ignoresFinalizers === true ||
    ((metadata.finalizers ?? []).length === 0 && strategy.isHeld?.(object) !== true)
  ) {
    if (request.dryRun) return { object: old, removed: true, size: existing.value.length, unchanged: true };
    const revision = await modules.cache.delete(key, existing.revision);
    return {
      object: { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } },
      removed: true,
      size: existing.value.length,
    };
  } else if (strategy.beginDeletion === undefined) {
    changed = markDeleted(metadata, now) || changed;
  }
  if (!changed || request.dryRun) return { object, removed: false, size: existing.value.length, unchanged: true };

  delete metadata.resourceVersion;
  const converted = modules.reader.isStoredVersion(definition)
    ? object
    : await modules.reader.toStored(definition, object, request.work);
  request.storedFields?.protect();
  const stored = request.storedFields?.applyTo(converted) ?? converted;
  const bytes = encodeForStorage(stored, modules.maxObjectBytes);
  const revision = await modules.decoded.announce(
    key,
    bytes,
    stored,
    () => modules.cache.update(key, bytes, existing.revision, { ttlSeconds: strategy.ttlSeconds }),
    modules.reader.conformanceWhenMarked(definition, existing),
  );
  return {
    object: { ...object, metadata: { ...metadata, resourceVersion: String(revision) } },
    removed: false,
    size: existing.value.length,
  };
}

/** A copy whose metadata may be modified. managedFields, the largest part of most objects, stay shared. */
function copyForMarking({ metadata, ...rest }: DeepReadonly<KubeObject>): KubeObject {
  const { managedFields, ...others } = metadata;
  const copy = deepCopy(asJson({ ...rest, metadata: others } as KubeObject)) as unknown as KubeObject;
  if (managedFields !== undefined) copy.metadata.managedFields = managedFields as Json[];
  return copy;
}

const finalizersField = Buffer.from('"finalizers"');

/** Whether the stored bytes and the options show that the object is removed without being marked first. */
function canRemoveDirectly(
  { reader }: ObjectStoreModules,
  { definition, dryRun }: WriteRequest,
  existing: CacheEntry,
  { preconditions, propagationPolicy, orphanDependents }: DeleteObjectOptions,
): boolean {
  const { strategy } = definition;
  return (
    !dryRun &&
    preconditions === undefined &&
    (propagationPolicy === undefined || propagationPolicy === 'Background') &&
    orphanDependents !== true &&
    strategy.beginDeletion === undefined &&
    strategy.isHeld === undefined &&
    strategy.finalizersOfDeletion === undefined &&
    reader.isStoredVersion(definition) &&
    !reader.needsWebhook(definition, existing) &&
    !existing.value.includes(finalizersField)
  );
}

const nameForAdmission = ({ name }: WriteRequest, { isInCollection }: DeleteObjectOptions): string =>
  isInCollection === true ? '' : name;

/** Parses the object only if admission or the caller reads it; deleting the content of a workspace never does. */
async function removeDirectly(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry,
  options: DeleteObjectOptions,
): Promise<DeleteOutcome> {
  const { definition } = request;
  const attributes = {
    ...admissionAttributes(request, 'DELETE', nameForAdmission(request, options), undefined, undefined),
    get oldObject() {
      return modules.reader.object(definition, existing);
    },
  };
  const loaded = modules.reader.load(existing, request);
  if (loaded !== undefined) await loaded;
  await modules.admission.admit(attributes);
  await modules.admission.validate(attributes);
  const revision = await modules.cache.delete(key, existing.revision);
  return {
    get object() {
      const old = modules.reader.object(definition, existing);
      return { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
    },
    removed: true,
    size: existing.value.length,
  };
}

/** Sets deletionTimestamp and grace period; false if both were set already. */
function markDeleted(metadata: KubeObject['metadata'], now: number): boolean {
  let changed = false;
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = metadataTime(now);
    if (metadata.generation !== undefined && metadata.generation > 0) metadata.generation += 1;
    changed = true;
  }
  if (metadata.deletionGracePeriodSeconds !== 0) {
    metadata.deletionGracePeriodSeconds = 0;
    changed = true;
  }
  return changed;
}

/** Whether an object is marked for deletion and has no finalizers left: the write that removed the last one deletes it. */
export function canFinalizeDeletion(definition: ResourceDefinition, object: DeepReadonly<KubeObject>): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    (deletionGracePeriodSeconds ?? 0) === 0 &&
    (finalizers ?? []).length === 0 &&
    definition.strategy.isHeld?.(object) !== true
  );
}

function checkPreconditions(
  request: WriteRequest,
  object: DeepReadonly<KubeObject>,
  options: DeleteObjectOptions,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { definition } = request;
  if (definition.strategy.beginDeletion !== undefined) {
    checkMarkedPreconditions(request, object, options);
    return;
  }
  // Kubernetes names the kind here, where every other conflict names the resource.
  const subject = { group: groupResourceOf(definition).group, resource: definition.kind };
  if (uid !== undefined && uid !== object.metadata.uid) {
    throw statusErrors.conflict(
      subject,
      request.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
    throw statusErrors.conflict(
      subject,
      request.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${object.metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** Kinds that are always marked before they go (Namespace, CRD) have preconditions with texts of their own. */
function checkMarkedPreconditions(
  { definition, name }: WriteRequest,
  { metadata }: DeepReadonly<KubeObject>,
  { preconditions: { uid, resourceVersion } = {} }: DeleteObjectOptions,
): void {
  const fail = (field: string, wanted: string, found: string | undefined): never => {
    throw statusErrors.conflict(
      groupResourceOf(definition),
      name,
      `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${found}`,
    );
  };
  if (uid !== undefined && uid !== metadata.uid) fail('UID', uid, metadata.uid);
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    fail('ResourceVersion', resourceVersion, metadata.resourceVersion);
}

/** The finalizers, with those of the garbage collector set by the options, else kept; a kind that it ignores loses them. */
function finalizersAfter(strategy: Strategy, finalizers: readonly string[], options: DeleteObjectOptions): string[] {
  const { orphanDependents, propagationPolicy } = options;
  let orphan = finalizers.includes(orphanFinalizer);
  let foreground = finalizers.includes(foregroundFinalizer);
  if (orphanDependents !== undefined) {
    orphan = orphanDependents;
    // Of namespaces alone (pkg/registry/core/namespace/storage of Kubernetes).
    foreground = strategy.isHeld !== undefined && !orphanDependents;
  } else if (propagationPolicy !== undefined) {
    orphan = propagationPolicy === 'Orphan';
    foreground = propagationPolicy === 'Foreground';
  }
  const result = finalizers.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (!strategy.garbageCollected) return result;
  if (orphan) result.push(orphanFinalizer);
  if (foreground) result.push(foregroundFinalizer);
  return result;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  // An object may have 100,000 finalizers.
  const items = new Set(b);
  return a.every((item) => items.has(item));
}
