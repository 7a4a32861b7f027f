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
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { type Attempted, guaranteedUpdate } from './guaranteed-update.ts';
import { encodeForStorage } from './object-codec.ts';
import { metadataTime } from './object-metadata.ts';
import { type ObjectStoreModules, keyOf } from './store-access.ts';
import { type WriteRequest, admissionAttributes, groupResourceOf, strategyContext } from './write-request.ts';

export interface DeleteObjectOptions {
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly propagationPolicy?: string | undefined;
  /** Deprecated form of the policy; wins over it. */
  readonly orphanDependents?: boolean | undefined;
}

export interface DeleteOutcome extends Attempted {
  /** The object as it stands now, or as it was last. */
  readonly object: DeepReadonly<KubeObject>;
  readonly removed: boolean;
}

/** DELETE (K2.5): preconditions, admission, then finalizers decide whether the object goes at once or is only marked. */
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
  if (goesAtOnce(modules, request, existing, options)) return removeAtOnce(modules, request, key, existing);
  const old = await modules.reader.read(definition, existing, request);
  checkPreconditions(request, old, options);
  const attributes = admissionAttributes(request, 'DELETE', request.name, undefined, old);
  await modules.admission.admit(attributes);
  await modules.admission.validate(attributes);

  const object = copyToMark(old);
  const { metadata } = object;
  const held =
    metadata.deletionTimestamp === undefined
      ? [...(metadata.finalizers ?? []), ...(strategy.finalizersOfDeletion?.(object) ?? [])]
      : (metadata.finalizers ?? []);
  const finalizers = finalizersAfter(strategy.garbageCollected, held, options);
  let changed = !sameSet(finalizers, metadata.finalizers ?? []);
  if (changed) {
    if (finalizers.length === 0) delete metadata.finalizers;
    else metadata.finalizers = finalizers;
  }
  const now = modules.clock.now();
  if (strategy.beginDeletion !== undefined && metadata.deletionTimestamp === undefined) {
    // Kinds with an ending of their own (Namespace, CRD) are marked first, whatever holds them, and say so themselves.
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
    if (request.dryRun) return { object: old, removed: true, nothingWritten: true };
    const revision = await modules.cache.delete(key, existing.revision);
    return {
      object: { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } },
      removed: true,
    };
  } else if (strategy.beginDeletion === undefined) {
    changed = markDeleted(metadata, now) || changed;
  }
  if (!changed || request.dryRun) return { object, removed: false, nothingWritten: true };

  delete metadata.resourceVersion;
  // A signal is made for those who need one.
  const stored = modules.reader.isStoredVersion(definition)
    ? object
    : await modules.reader.toStored(definition, object, request.signal);
  const bytes = encodeForStorage(stored, modules.maxObjectBytes);
  const revision = await modules.decoded.announce(
    key,
    bytes,
    stored,
    () => modules.cache.update(key, bytes, existing.revision, { ttlSeconds: strategy.ttlSeconds }),
    modules.reader.conformanceOfMarked(definition, existing),
  );
  return { object: { ...object, metadata: { ...metadata, resourceVersion: String(revision) } }, removed: false };
}

/** A copy to change the metadata of; who owns what stays as it is, and is the largest part of most objects. */
function copyToMark({ metadata, ...rest }: DeepReadonly<KubeObject>): KubeObject {
  const { managedFields, ...others } = metadata;
  const copy = deepCopy(asJson({ ...rest, metadata: others } as KubeObject)) as unknown as KubeObject;
  if (managedFields !== undefined) copy.metadata.managedFields = managedFields as Json[];
  return copy;
}

const finalizersField = Buffer.from('"finalizers"');

/** True for an object of which its bytes tell that nothing holds it, whatever else it is. */
function goesAtOnce(
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

/** The object is parsed only for those who look at it: admission seldom does, and who empties a workspace never. */
async function removeAtOnce(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry,
): Promise<DeleteOutcome> {
  const { definition, name } = request;
  const attributes = {
    ...admissionAttributes(request, 'DELETE', name, undefined, undefined),
    get oldObject() {
      return modules.reader.object(definition, existing);
    },
  };
  await modules.admission.admit(attributes);
  await modules.admission.validate(attributes);
  const revision = await modules.cache.delete(key, existing.revision);
  return {
    get object() {
      const old = modules.reader.object(definition, existing);
      return { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
    },
    removed: true,
  };
}

/** Sets what marks an object as being deleted; false when it is marked already. */
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

/** An object that is being deleted and that nothing holds any more: the write that made it so removes it (K2.5). */
export function isReadyToVanish(definition: ResourceDefinition, object: DeepReadonly<KubeObject>): boolean {
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
  // The message and its details name the Kind where every other conflict names the resource.
  const subject = { group: request.definition.group, resource: request.definition.kind };
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

/** Finalizers with those of the garbage collector as the options, else the object itself, want them (K2.5). */
function finalizersAfter(
  garbageCollected: boolean,
  finalizers: readonly string[],
  options: DeleteObjectOptions,
): string[] {
  if (!garbageCollected) return [...finalizers];
  const { orphanDependents, propagationPolicy } = options;
  let orphan = finalizers.includes(orphanFinalizer);
  let foreground = finalizers.includes(foregroundFinalizer);
  if (orphanDependents !== undefined) {
    orphan = orphanDependents;
    foreground = false;
  } else if (propagationPolicy !== undefined) {
    orphan = propagationPolicy === 'Orphan';
    foreground = propagationPolicy === 'Foreground';
  }
  const result = finalizers.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (orphan) result.push(orphanFinalizer);
  if (foreground) result.push(foregroundFinalizer);
  return result;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item));
}
