import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  StrconvError,
  asJson,
  deepEqual,
  fieldErrors,
  isStatusError,
  objectRevision,
  statusErrors,
} from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { storedBytes } from '../registry/codec/stored-bytes.ts';
import { storedKindOf, groupResourceOf } from '../registry/definitions/group-resource.ts';
import { keyOf } from '../registry/store/object-key.ts';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { modifiedText } from '../registry/store/storage-status.ts';
import { admitManaged, admitMutating, admitValidating } from './admission-steps.ts';
import { beginAttempt } from './begin-attempt.ts';
import { beforeUpdate } from './before-update.ts';
import { insertObject } from './create-object.ts';
import { canFinalizeDeletion } from './delete-object.ts';
import type { DecodeStep } from './decode-step.ts';
import { conflict, guaranteedUpdate } from './guaranteed-update.ts';
import { dropDuplicateOwners, dropEmpty } from './object-metadata.ts';
import { strategyOf } from './strategy.ts';
import { writeWithin } from './write-capacity.ts';
import { grownSize } from '../registry/grown-objects.ts';
import type { WriteRequest } from './write-request.ts';
import { type WriteResult, dryRunResult, writeResult } from './write-result.ts';

export interface UpdateOptions {
  /** The uid in the body of a PUT; the current object must have it. */
  readonly expectedUid?: string | undefined;
  /** A missing object is created even if the kind does not allow that for updates (apply). */
  readonly forceCreate?: boolean | undefined;
  /** Called before an update creates a missing object; throws 403 if the user lacks the verb `create`. */
  readonly authorizeCreate?: (() => Promise<void>) | undefined;
  /** The decode step sets managedFields (apply, scale); otherwise the write path computes them. */
  readonly setsManagedFields?: boolean | undefined;
  /** Server-side apply: the object is not stored without its managedFields. */
  readonly isApply?: boolean | undefined;
}

/** PUT, PATCH and apply: runs the write path on the current state, and again after every conflict. */
export async function updateObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  decode: DecodeStep,
  options: UpdateOptions = {},
): Promise<WriteResult> {
  const key = keyOf(request.definition, request);
  return guaranteedUpdate(key, request, modules, (existing) =>
    attempt(modules, request, key, existing, decode, options),
  );
}

async function attempt(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry | undefined,
  decode: DecodeStep,
  options: UpdateOptions,
): Promise<WriteResult> {
  const { definition, name, work } = request;
  const { reader } = modules;
  beginAttempt(modules, request, existing);
  work.grow(existing?.value.length ?? 0);
  const old = existing === undefined ? undefined : await reader.read(definition, existing, request);
  // Kept for the comparison: the cache may drop a large object meanwhile.
  const current = existing === undefined ? undefined : reader.stored(existing);
  // As in etcd3's GuaranteedUpdate, the precondition is asked of a missing object only where the write may create it.
  if (old === undefined) checkMayCreate(request, options);
  checkExpectedUid(request, key, old, options.expectedUid ?? '');
  if (existing === undefined || old === undefined || current === undefined)
    return createMissing(modules, request, decode, options);

  work.grow(grownSize(old, existing.value.length));
  const object = await propose(modules, request, decode, old, options);
  const version = parsedVersion(object);
  if (version === 0 && !strategyOf(request).allowUnconditionalUpdate) {
    throw statusErrors.invalid(storedKindOf(definition, definition.resource), name, [
      fieldErrors.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
  if (version !== 0 && version !== existing.revision)
    throw statusErrors.conflict(groupResourceOf(definition), name, modifiedText);

  await beforeUpdate(modules, request, object, old);
  await admitValidating(modules, request, name, object, old);
  dropEmpty(object.metadata);
  // The storage does not keep it.
  if (!request.dryRun && object.metadata.selfLink !== undefined) delete object.metadata.selfLink;
  return replace(modules, request, { key, existing, current, old }, object, options);
}

/** Decodes the proposed object and runs mutating admission on it. */
async function propose(
  modules: ObjectStoreModules,
  request: WriteRequest,
  decode: DecodeStep,
  current: DeepReadonly<KubeObject> | undefined,
  { setsManagedFields }: UpdateOptions,
): Promise<KubeObject> {
  const object = await decode(current);
  const admit = setsManagedFields === true ? admitManaged : admitMutating;
  await admit(modules, request, object, current);
  dropDuplicateOwners(object, request, 'admission');
  return object;
}

/** Throws NotFound for an update of a missing object unless the kind or the caller allows to create it. */
function checkMayCreate(request: WriteRequest, { forceCreate }: UpdateOptions): void {
  const { definition, name, subresource } = request;
  if (forceCreate !== true && (subresource !== '' || !strategyOf(request).allowCreateOnUpdate))
    throw statusErrors.notFound(groupResourceOf(definition), name);
}

/** An update of a missing object creates it. */
async function createMissing(
  modules: ObjectStoreModules,
  request: WriteRequest,
  decode: DecodeStep,
  options: UpdateOptions,
): Promise<WriteResult> {
  const object = await propose(modules, request, decode, undefined, options);
  parsedVersion(object);
  if (!request.dryRun) delete object.metadata.resourceVersion;
  await options.authorizeCreate?.();
  try {
    return await insertObject(modules, request, object, options);
  } catch (error) {
    // The object that exists may be another one if admission has changed the name: then a retry would meet it again.
    if (isStatusError(error, 'AlreadyExists') && !request.dryRun && object.metadata.name === request.name)
      throw conflict;
    throw error;
  }
}

function checkExpectedUid(
  { definition, name }: WriteRequest,
  key: string,
  old: DeepReadonly<KubeObject> | undefined,
  expected: string,
): void {
  const uid = old?.metadata.uid ?? '';
  if (expected === '' || expected === uid) return;
  throw statusErrors.conflict(
    groupResourceOf(definition),
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${expected}, UID in object meta: ${uid}`,
  );
}

/** `metadata.resourceVersion` as a number, 0 if it is absent. Throws an untyped 500, as Kubernetes does, if it is not a number. */
function parsedVersion(object: KubeObject): number {
  try {
    return objectRevision(object.metadata.resourceVersion);
  } catch (error) {
    if (error instanceof StrconvError) throw statusErrors.untyped(error.message);
    throw error;
  }
}

/** Stores the object, or deletes it when it has a deletionTimestamp and this write removes its last finalizer. */
async function replace(
  modules: ObjectStoreModules,
  request: WriteRequest,
  replaced: {
    readonly key: string;
    readonly existing: CacheEntry;
    /** In its storage version. */
    readonly current: DeepReadonly<KubeObject>;
    /** In the version of the request. */
    readonly old: DeepReadonly<KubeObject>;
  },
  object: KubeObject,
  { isApply }: UpdateOptions,
): Promise<WriteResult> {
  const { definition, work } = request;
  const size = work.bytes;
  const { cache, reader } = modules;
  const { key, existing, old } = replaced;
  const { revision } = existing;
  if (canFinalizeDeletion(definition, object)) {
    if (!request.dryRun) await cache.delete(key, revision);
    return { object, bytes: undefined, revision, size, created: false };
  }
  if (request.dryRun) {
    const shown = await dryRunResult(reader, request, object);
    return { object: shown, bytes: undefined, revision, size, created: false, unchanged: true };
  }
  const converted = reader.isStoredVersion(definition) ? object : await reader.toStored(definition, object, work);
  const stored = request.storedFields?.applyTo(converted) ?? converted;
  // Without a change there is no write: same resourceVersion, no event. Compared as values, because the order of keys is no
  // change. Bytes in another storage version differ in apiVersion, so they are rewritten, as are bytes that were encrypted with
  // another than the first key.
  const isSame = await isUnchanged(stored, replaced.current, work);
  if (isSame && (await cache.isStale?.(key)) !== true) {
    const bytes = reader.servableBytes(definition, existing);
    return { object: old, bytes, revision, size: existing.value.length, created: false, unchanged: true };
  }
  const bytes = await storedBytes(stored, modules.maxObjectBytes, isApply, work);
  const conformance = await reader.announcedConformance(definition, stored, work);
  const { ttlSeconds } = strategyOf(request);
  const written = await modules.decoded.announce(
    key,
    bytes,
    stored,
    () =>
      writeWithin(modules.capacity, request, { key, bytes: bytes.length, oldBytes: existing.value.length }, () =>
        cache.update(key, bytes, revision, { ttlSeconds }),
      ),
    conformance,
  );
  return writeResult(reader, request, object, stored, { bytes, revision: written, created: false });
}

/**
 * Whether an object equals the stored one. Times in managedFields alone are not a change: then those of the stored object
 * are restored in place.
 */
async function isUnchanged(object: KubeObject, old: DeepReadonly<KubeObject>, work: RequestWork): Promise<boolean> {
  await work.pause();
  const before = old.metadata.managedFields as JsonObject[] | undefined;
  const now = object.metadata.managedFields as JsonObject[] | undefined;
  if (before === undefined || now === undefined || before === now || before.length !== now.length)
    return deepEqual(asJson(object), asJson(old as KubeObject));
  const timeless = (entry: JsonObject): JsonObject => ({ ...entry, time: null });
  if (!deepEqual(now.map(timeless), before.map(timeless))) return false;
  const { managedFields: _, ...metadata } = object.metadata;
  const { managedFields: __, ...oldMetadata } = old.metadata as KubeObject['metadata'];
  const rest = asJson({ ...object, metadata });
  await work.pause();
  if (!deepEqual(rest, asJson({ ...(old as KubeObject), metadata: oldMetadata }))) return false;
  object.metadata.managedFields = before;
  return true;
}
