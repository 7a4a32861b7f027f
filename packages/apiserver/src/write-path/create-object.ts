import {
  type KubeObject,
  StatusError,
  appendErrors,
  asJson,
  deepCopy,
  generateName,
  maxGeneratedNameAttempts,
  objectRevision,
  statusErrors,
  validateObjectMeta,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type StoredValue, isStorageError } from '@multiplane/storage';
import { giveWay, isBig } from './give-way.ts';
import {
  checkKind,
  dropDuplicateOwners,
  dropEmpty,
  setCluster,
  unsetCluster,
  wipeServerOwned,
} from './object-metadata.ts';
import { type ObjectStoreModules, currentState, keyOf } from './store-access.ts';
import { storedBytes } from './stored-bytes.ts';
import {
  type WriteRequest,
  type Written,
  admissionAttributes,
  groupResourceOf,
  strategyContext,
  strategyOf,
} from './write-request.ts';
import { rehearsed, written } from './written.ts';

/** About how big an object is: something big gives way to others between the steps. */
export interface ObjectSize {
  readonly bytes?: number | undefined;
}

/** POST (K2.1): server-owned fields, mutating admission, then {@link insertObject} until a generated name is free. */
export async function createObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
  size: ObjectSize = {},
): Promise<Written> {
  const { metadata } = object;
  const { bytes = 0 } = size;
  if (isBig(bytes)) await giveWay(bytes);
  if (request.definition.strategy.keepsIdentity?.(object) !== true) wipeServerOwned(metadata);
  dropDuplicateOwners(object, request, 'request');
  const owned = modules.fields.update(request, undefined, object, bytes);
  if (owned !== undefined) await owned;
  if (isBig(bytes)) await giveWay(bytes);
  // Whatever is over at once is not waited for: of a usual object only its write is.
  const name = metadata.name ?? '';
  const admitted = modules.admission.admit(admissionAttributes(request, 'CREATE', name, object, undefined));
  if (admitted !== undefined) await admitted;
  dropDuplicateOwners(object, request, 'admission');
  if (isBig(bytes)) await giveWay(bytes);

  const generated = (metadata.generateName ?? '') !== '';
  if (!generated) return await insertObject(modules, request, object, size);
  for (let attempt = 1; ; attempt++) {
    // Each attempt starts from what admission left: hooks change the object, and the name they see must be the final one.
    const candidate =
      attempt === maxGeneratedNameAttempts ? object : (deepCopy(asJson(object)) as unknown as KubeObject);
    try {
      return await insertObject(modules, request, candidate, size);
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error;
      if (attempt < maxGeneratedNameAttempts && (metadata.name ?? '') === '') continue;
      throw new StatusError({
        code: error.code,
        reason: error.reason,
        message: `${error.message}, the server was not able to generate a unique name for the object`,
        details: { ...error.details, retryAfterSeconds: 1 },
        cause: error,
      });
    }
  }
}

/**
 * Everything between admission and the store; also what a PUT or an apply on a missing object does. `bytes` is about how
 * big the object is.
 */
export async function insertObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
  {
    applies,
    bytes: sentBytes = 0,
  }: { readonly applies?: boolean | undefined; readonly bytes?: number | undefined } = {},
): Promise<Written> {
  const { definition } = request;
  const { metadata } = object;
  const { cache, clock } = modules;
  const context = strategyContext(request, () => new Date(clock.now()), modules.slowly);
  const strategy = strategyOf(request);

  const keepsIdentity = strategy.keepsIdentity?.(object) === true;
  if (!keepsIdentity || (metadata.uid ?? '') === '') metadata.uid = modules.newUid();
  if (!keepsIdentity || (metadata.creationTimestamp ?? '') === '') metadata.creationTimestamp = modules.times.now();
  if (metadata.deletionTimestamp !== undefined) delete metadata.deletionTimestamp;
  if (metadata.deletionGracePeriodSeconds !== undefined) delete metadata.deletionGracePeriodSeconds;
  if (definition.namespaced) metadata.namespace = request.namespace;
  else delete metadata.namespace;
  if ((metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '') {
    metadata.name = generateName(metadata.generateName as string, modules.random);
  }
  unsetCluster(metadata);
  if (strategy.managesGeneration) metadata.generation = 1;

  checkKind(definition, object);
  strategy.prepareForCreate(context, object);
  const errors = validateObjectMeta(metadata, {
    namespaced: definition.namespaced,
    validateName: (name) => strategy.validateName(name),
    origin: definition.origin,
  });
  if (isBig(sentBytes)) await giveWay(sentBytes);
  const found = strategy.validate(context, object);
  appendErrors(errors, found instanceof Promise ? await found : found);
  // What has many faults has a long answer.
  if (isBig(sentBytes)) await giveWay(sentBytes);
  if (errors.length > 0)
    throw statusErrors.invalid({ group: definition.group, kind: object.kind }, metadata.name ?? '', errors);
  for (const text of strategy.warnings(context, object, undefined)) request.warn(text);
  strategy.canonicalize(object);
  setCluster(metadata, request.cluster);
  const name = metadata.name as string;
  const validated = modules.admission.validate(admissionAttributes(request, 'CREATE', name, object, undefined));
  if (validated !== undefined) await validated;

  const sent = metadata.resourceVersion;
  if (sent !== undefined && sent !== '' && isNonZeroNumber(sent)) {
    throw statusErrors.untyped('resourceVersion should not be set on objects to be created');
  }
  if (sent !== undefined) delete metadata.resourceVersion;
  dropEmpty(metadata);

  const key = keyOf(definition, { cluster: request.cluster, namespace: request.namespace, name });
  if (request.dryRun) {
    const { entry } = await currentState(cache, key, true);
    if (entry !== undefined) throw alreadyExists(modules, request, name, entry);
    return { object: await rehearsed(modules.reader, request, object), bytes: undefined, revision: 0, created: true };
  }

  const { reader } = modules;
  // A signal is made for those who need one: who only encodes does not.
  const stored = reader.isStoredVersion(definition)
    ? object
    : await reader.toStored(definition, object, request.signal);
  const shown = definition.origin === 'custom' && stored === object ? withStatus(definition, object) : object;
  const encoded = storedBytes(stored, modules.maxObjectBytes, applies, sentBytes);
  const bytes = encoded instanceof Promise ? await encoded : encoded;
  if (isBig(sentBytes)) await giveWay(sentBytes);
  let revision: number;
  try {
    revision = await modules.decoded.announce(
      key,
      bytes,
      stored,
      () => cache.create(key, bytes, { ttlSeconds: strategy.ttlSeconds }),
      shown['status'] === object['status'] ? undefined : `!${definition.schema.hash}`,
    );
  } catch (error) {
    if (!isStorageError(error, 'KeyExists')) throw error;
    const existing = await cache.get(key);
    throw alreadyExists(modules, request, name, existing);
  }
  return written(reader, request, object, stored, stored === object ? bytes : undefined, revision, true, shown);
}

/** A create takes no status. What its schema fills in instead is shown, not stored. */
function withStatus(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const shown = { ...object };
  definition.schema.applyDefaults(asJson(shown));
  return shown;
}

function isNonZeroNumber(text: string): boolean {
  try {
    return objectRevision(text) !== 0;
  } catch {
    return false;
  }
}

function alreadyExists(
  modules: ObjectStoreModules,
  request: WriteRequest,
  name: string,
  existing: StoredValue | undefined,
): StatusError {
  const error = statusErrors.alreadyExists(groupResourceOf(request.definition), name);
  if (existing === undefined || modules.decoded.get(existing).metadata.deletionTimestamp === undefined) return error;
  return new StatusError({
    code: error.code,
    reason: error.reason,
    message: `object is being deleted: ${error.message}`,
    details: error.details,
  });
}
