import {
  type DeepReadonly,
  type FieldError,
  type JsonObject,
  type KubeObject,
  StrconvError,
  asJson,
  deepEqual,
  fieldErrors,
  isStatusError,
  objectRevision,
  statusErrors,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { insertObject } from './create-object.ts';
import { isReadyToVanish } from './delete-object.ts';
import { giveWay, isBig } from './give-way.ts';
import { guaranteedUpdate, lostRace } from './guaranteed-update.ts';
import { checkKind, dropEmpty, setCluster, unsetCluster } from './object-metadata.ts';
import { type ObjectStoreModules, keyOf } from './store-access.ts';
import { storedBytes } from './stored-bytes.ts';
import { modifiedText } from './storage-status.ts';
import {
  type WriteRequest,
  type Written,
  admissionAttributes,
  groupResourceOf,
  strategyContext,
  strategyOf,
} from './write-request.ts';
import { rehearsed, written } from './written.ts';

/**
 * Makes the new object from the current one (undefined: there is none), mutating admission included. Called again for
 * every attempt; what it returns belongs to the registry. `bytes`: the size of what was sent or of the current object,
 * whichever is bigger.
 */
export type UpdatedObject = (current: DeepReadonly<KubeObject> | undefined, bytes: number) => Promise<KubeObject>;

export interface UpdateOptions {
  /** The uid the body carried: must be the object's (PUT). */
  readonly expectedUid?: string | undefined;
  /** A missing object is created whatever the kind says (apply). */
  readonly forceCreate?: boolean | undefined;
  /** Called before a missing object is created by an update: the caller needs the verb `create` for that. */
  readonly authorizeCreate?: (() => Promise<void>) | undefined;
  /** Server-side apply: the object is nothing without its managedFields. */
  readonly applies?: boolean | undefined;
  /** Size of what was sent: something big gives way to others between the steps. */
  readonly bytes?: number | undefined;
}

/** Reads, makes the new object, checks it, compares and sets: PUT, PATCH and apply (K2.4). */
export async function updateObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  updated: UpdatedObject,
  options: UpdateOptions = {},
): Promise<Written> {
  const key = keyOf(request.definition, request);
  return guaranteedUpdate(key, request, modules, (existing) =>
    attempt(modules, request, key, existing, updated, options),
  );
}

async function attempt(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry | undefined,
  updated: UpdatedObject,
  options: UpdateOptions,
): Promise<Written> {
  const { definition, name } = request;
  const strategy = strategyOf(request);
  const { reader } = modules;
  if (existing !== undefined && isBig(existing.value.length)) await giveWay(existing.value.length);
  const old =
    existing === undefined
      ? undefined
      : reader.needsWebhook(definition, existing)
        ? await reader.read(definition, existing, request)
        : reader.object(definition, existing);

  const expectedUid = options.expectedUid ?? '';
  if (expectedUid !== '' && expectedUid !== (old?.metadata.uid ?? '')) {
    throw statusErrors.conflict(
      groupResourceOf(definition),
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${expectedUid}, UID in object meta: ${old?.metadata.uid ?? ''}`,
    );
  }
  if (existing === undefined || old === undefined) {
    if (options.forceCreate !== true && (request.subresource !== '' || !strategy.allowCreateOnUpdate)) {
      throw statusErrors.notFound(groupResourceOf(definition), name);
    }
    const object = await updated(undefined, options.bytes ?? 0);
    parsedVersion(object);
    delete object.metadata.resourceVersion;
    await options.authorizeCreate?.();
    try {
      return await insertObject(modules, request, object, options);
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists') && !request.dryRun) throw lostRace;
      throw error;
    }
  }

  const bytes = Math.max(options.bytes ?? 0, existing.value.length);
  const object = await updated(old, bytes);
  const version = parsedVersion(object);
  if (version === 0 && !strategy.allowUnconditionalUpdate) {
    throw statusErrors.invalid({ group: definition.group, kind: definition.resource }, name, [
      fieldErrors.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
  if (version !== 0 && version !== existing.revision)
    throw statusErrors.conflict(groupResourceOf(definition), name, modifiedText);

  await giveWay(bytes);
  await checkUpdate(modules, request, object, old, bytes);
  await giveWay(bytes);
  return replace(modules, request, key, existing, object, old, { ...options, bytes });
}

/** Number in `metadata.resourceVersion`, 0 when there is none. A text that is no number is an untyped 500 (K2.4). */
function parsedVersion(object: KubeObject): number {
  try {
    return objectRevision(object.metadata.resourceVersion);
  } catch (error) {
    if (error instanceof StrconvError) throw statusErrors.untyped(error.message);
    throw error;
  }
}

/** What the server decides, then hooks, validation, validating admission; in upstream's order (`BeforeUpdate`). */
async function checkUpdate(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
  old: DeepReadonly<KubeObject>,
  bytes: number,
): Promise<void> {
  const { definition } = request;
  const { metadata } = object;
  const strategy = strategyOf(request);
  const context = strategyContext(request, () => new Date(modules.clock.now()), modules.slowly);
  const oldMetadata = old.metadata as KubeObject['metadata'];

  metadata.resourceVersion = oldMetadata.resourceVersion as string;
  if (definition.namespaced) metadata.namespace = request.namespace;
  else delete metadata.namespace;
  copyField(metadata, oldMetadata, 'generation');
  unsetCluster(metadata);
  checkKind(definition, object);
  strategy.prepareForUpdate(context, object, old);

  if ((metadata.uid ?? '') === '') metadata.uid = oldMetadata.uid as string;
  copyField(metadata, oldMetadata, 'creationTimestamp');
  if (oldMetadata.deletionTimestamp !== undefined) metadata.deletionTimestamp = oldMetadata.deletionTimestamp;
  if (oldMetadata.deletionGracePeriodSeconds !== undefined && metadata.deletionGracePeriodSeconds === undefined) {
    metadata.deletionGracePeriodSeconds = oldMetadata.deletionGracePeriodSeconds;
  }
  if (strategy.managesGeneration && specChanged(definition, object, old))
    metadata.generation = (oldMetadata.generation ?? 0) + 1;

  const metadataErrors: FieldError[] = [
    ...validateObjectMeta(metadata, {
      namespaced: definition.namespaced,
      validateName: (text) => strategy.validateName(text),
      origin: definition.origin,
    }),
    ...validateObjectMetaUpdate(metadata, oldMetadata),
  ];
  // The hooks have passed over the object, and what they left is passed over again.
  await giveWay(bytes);
  const errors = [
    ...metadataErrors,
    // Upstream checks metadata in its generic part and once more in each kind's own: every cause is listed twice (K1.6).
    ...metadataErrors,
    ...(await strategy.validateUpdate(context, object, old)),
  ];
  if (errors.length > 0)
    throw statusErrors.invalid({ group: definition.group, kind: object.kind }, request.name, errors);
  await giveWay(bytes);
  for (const text of strategy.warnings(context, object, old)) request.warn(text);
  strategy.canonicalize(object);
  setCluster(metadata, request.cluster);
  await modules.admission.validate(admissionAttributes(request, 'UPDATE', request.name, object, old));
  dropEmpty(metadata);
}

/** Times alone are no change of managedFields (K2.4): where nothing else differs they stay. In place. */
function keepManagedTimes(object: KubeObject, old: DeepReadonly<KubeObject>): void {
  const before = old.metadata.managedFields as JsonObject[] | undefined;
  const now = object.metadata.managedFields as JsonObject[] | undefined;
  if (before === undefined || now === undefined || before === now || before.length !== now.length) return;
  const timeless = (entry: JsonObject): JsonObject => ({ ...entry, time: null });
  if (!now.every((entry, index) => deepEqual(timeless(entry), timeless(before[index] as JsonObject)))) return;
  const { managedFields: _, ...metadata } = object.metadata;
  const { managedFields: __, ...oldMetadata } = old.metadata as KubeObject['metadata'];
  if (deepEqual(asJson({ ...object, metadata }), asJson({ ...(old as KubeObject), metadata: oldMetadata })))
    object.metadata.managedFields = before;
}

function copyField(
  to: KubeObject['metadata'],
  from: KubeObject['metadata'],
  field: 'generation' | 'creationTimestamp',
): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else (to as Record<string, unknown>)[field] = value;
}

/** Anything but metadata and the status part differs (K2.4). A status is a part of its own when it is a subresource. */
function specChanged(definition: ResourceDefinition, object: KubeObject, old: DeepReadonly<KubeObject>): boolean {
  const statusApart = definition.origin === 'built-in' || definition.subresources['status'] !== undefined;
  const left = asJson(object);
  const right = asJson(old as KubeObject);
  const compared = (key: string): boolean => key !== 'metadata' && !(statusApart && key === 'status');
  for (const key of Object.keys(left)) if (compared(key) && !deepEqual(left[key], right[key])) return true;
  for (const key of Object.keys(right)) if (compared(key) && left[key] === undefined) return true;
  return false;
}

async function replace(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  existing: CacheEntry,
  object: KubeObject,
  old: DeepReadonly<KubeObject>,
  { applies, bytes: size = 0 }: UpdateOptions,
): Promise<Written> {
  const { definition } = request;
  const { cache } = modules;
  const strategy = strategyOf(request);

  if (isReadyToVanish(definition, object)) {
    if (!request.dryRun) await cache.delete(key, existing.revision);
    return { object, bytes: undefined, revision: existing.revision, created: false };
  }
  if (request.dryRun) {
    const shown = await rehearsed(modules.reader, request, object);
    return { object: shown, bytes: undefined, revision: existing.revision, created: false, nothingWritten: true };
  }

  const { reader } = modules;
  const stored = reader.isStoredVersion(definition)
    ? object
    : await reader.toStored(definition, object, request.signal);
  await giveWay(size);
  keepManagedTimes(stored, reader.stored(existing));
  // Nothing to write (K2.4): same version, no event. Compared as values: the order of keys is no change. Bytes of
  // another storage version differ in apiVersion, so they are rewritten.
  if (deepEqual(asJson(stored), asJson(modules.reader.stored(existing) as KubeObject))) {
    return {
      object: old,
      bytes: modules.reader.servableBytes(definition, existing),
      revision: existing.revision,
      created: false,
      nothingWritten: true,
    };
  }
  const bytes = await storedBytes(stored, modules.maxObjectBytes, applies, size);
  await giveWay(size);
  const revision = await modules.decoded.announce(key, bytes, stored, () =>
    cache.update(key, bytes, existing.revision, { ttlSeconds: strategy.ttlSeconds }),
  );
  return written(modules.reader, request, object, stored, stored === object ? bytes : undefined, revision, false);
}
