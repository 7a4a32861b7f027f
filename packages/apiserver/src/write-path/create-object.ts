import { traced } from '@multiplane/component-base';
import {
  type FieldError,
  type KubeObject,
  type ObjectMeta,
  StatusError,
  appendErrors,
  asJson,
  deepCopy,
  fieldErrors,
  maxGeneratedNameAttempts,
  objectRevision,
  statusErrors,
  validateObjectMeta,
  validatePathSegmentName,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, Strategy } from '@multiplane/apis';
import { type StoredValue, isStorageError } from '@multiplane/storage';
import { storedBytes } from '../registry/codec/stored-bytes.ts';
import { storedKindOf, groupResourceOf } from '../registry/definitions/group-resource.ts';
import { currentState } from '../registry/store/current-state.ts';
import { keyOf } from '../registry/store/object-key.ts';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { admitMutating, admitValidating } from './admission-steps.ts';
import { beginAttempt } from './begin-attempt.ts';
import { beforeCreate } from './before-create.ts';
import { dropDuplicateOwners, dropEmpty, setCluster, unsetCluster, wipeServerOwned } from './object-metadata.ts';
import { strategyContext, strategyOf } from './strategy.ts';
import { writeWithin } from './write-capacity.ts';
import type { WriteRequest } from './write-request.ts';
import { type WriteResult, dryRunResult, writeResult } from './write-result.ts';

/**
 * POST of a decoded object: server-owned fields are removed, mutating admission runs once, then {@link insertObject} until
 * a generated name is free.
 */
export async function createObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
): Promise<WriteResult> {
  const { metadata } = object;
  beginAttempt(modules, request, undefined);
  if (request.definition.strategy.keepsIdentity?.(object) !== true) wipeServerOwned(metadata);
  dropDuplicateOwners(object, request, 'request');
  await admitMutating(modules, request, object, undefined);
  dropDuplicateOwners(object, request, 'admission');

  const generated = (metadata.generateName ?? '') !== '';
  if (!generated) return insertObject(modules, request, object);
  for (let attempt = 1; ; attempt++) {
    await request.work.pause();
    // Strategy hooks modify the object and must see its final name, so each attempt starts from a copy of the admitted object.
    const candidate =
      attempt === maxGeneratedNameAttempts ? object : (deepCopy(asJson(object)) as unknown as KubeObject);
    try {
      return await insertObject(modules, request, candidate);
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
 * Validates, admits and stores a new object after mutating admission: the second half of a create, and of a PUT or apply
 * of a missing object. `isApply`: the object is not stored without its managedFields.
 */
export async function insertObject(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
  { isApply }: { readonly isApply?: boolean | undefined } = {},
): Promise<WriteResult> {
  const { definition, work } = request;
  const { metadata } = object;
  const { cache, clock, reader } = modules;
  const context = strategyContext(request, () => new Date(clock.now()), modules.slowly);
  const strategy = strategyOf(request);

  const metadataErrors = await beforeCreate(modules, request, strategy, context, object);
  await work.pause();
  const found = traced('schema and CEL validation', () => strategy.validate(context, object, metadataErrors));
  const errors = allErrors(definition, strategy, object, {
    object: metadataErrors,
    kind: await found,
  });
  // Many errors make a large response.
  await work.pause();
  if (errors.length > 0) throw statusErrors.invalid(storedKindOf(definition, object.kind), metadata.name ?? '', errors);
  for (const text of strategy.warnings(context, object, undefined)) request.warn(text);
  strategy.canonicalize(object);
  setCluster(metadata, request.cluster);
  const name = metadata.name as string;
  await admitValidating(modules, request, name, object, undefined);

  rejectResourceVersion(metadata, request.dryRun);
  dropEmpty(metadata);
  // The storage does not keep it.
  if (!request.dryRun && metadata.selfLink !== undefined) delete metadata.selfLink;
  const key = keyOf(definition, { cluster: request.cluster, namespace: request.namespace, name });
  if (request.dryRun) return dryRunCreate(modules, request, key, object);

  const converted = reader.isStoredVersion(definition) ? object : await reader.toStored(definition, object, work);
  const stored = request.storedFields?.applyTo(converted) ?? converted;
  const shown = definition.origin === 'custom' && stored === object ? withDefaultedStatus(definition, object) : object;
  const bytes = await storedBytes(stored, modules.maxObjectBytes, isApply, work);
  const conformance =
    shown['status'] === object['status']
      ? await reader.announcedConformance(definition, stored, work)
      : `!${definition.schema.hash}`;
  let revision: number;
  try {
    revision = await modules.decoded.announce(
      key,
      bytes,
      stored,
      () =>
        writeWithin(modules.capacity, request, { key, bytes: bytes.length, oldBytes: undefined }, () =>
          cache.create(key, bytes, { ttlSeconds: strategy.ttlSeconds }),
        ),
      conformance,
    );
  } catch (error) {
    if (!isStorageError(error, 'KeyExists')) throw error;
    const existing = await cache.get(key);
    throw alreadyExists(modules, request, name, existing);
  }
  return writeResult(reader, request, object, stored, { bytes, revision, created: true }, shown);
}

/** The errors in the order of the kind's validation; if there are none, those that the registry finds in metadata. */
function allErrors(
  { namespaced }: ResourceDefinition,
  { metadataChecks: { onCreate = ['object', 'kind'] } }: Strategy,
  { metadata }: KubeObject,
  found: Readonly<Record<'object' | 'kind', FieldError[]>>,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const check of onCreate) appendErrors(errors, found[check]);
  if (errors.length > 0) return errors;
  const registry = validatePathSegmentName(metadata.name ?? '').map((message) =>
    fieldErrors.invalid('metadata.name', metadata.name ?? '', message),
  );
  return onCreate.includes('object')
    ? registry
    : validateObjectMeta(metadata, { namespaced, validateName: validatePathSegmentName });
}

async function dryRunCreate(
  modules: ObjectStoreModules,
  request: WriteRequest,
  key: string,
  object: KubeObject,
): Promise<WriteResult> {
  const name = object.metadata.name as string;
  const { entry } = await currentState(modules.cache, key, true);
  if (entry !== undefined) throw alreadyExists(modules, request, name, entry);
  const { definition } = request;
  // Only what is stored has it.
  unsetCluster(object.metadata);
  dropEmpty(object.metadata);
  const result = await dryRunResult(modules.reader, request, object);
  return {
    object: definition.origin === 'custom' && result === object ? withDefaultedStatus(definition, object) : result,
    bytes: undefined,
    revision: 0,
    size: request.work.bytes,
    created: true,
  };
}

/** A create ignores `status`. A status that the schema defaults is returned, but not stored. */
function withDefaultedStatus(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const shown = { ...object };
  definition.schema.applyDefaults(asJson(shown));
  return shown;
}

/** Throws an untyped 500, as Kubernetes' storage does, for a non-zero resourceVersion; a dry run keeps what was sent. In place. */
function rejectResourceVersion(metadata: ObjectMeta, dryRun: boolean): void {
  const sent = metadata.resourceVersion;
  if (sent === undefined) return;
  if (dryRun && sent !== '') return;
  if (sent !== '' && isNonZeroNumber(sent)) {
    throw statusErrors.untyped('resourceVersion should not be set on objects to be created');
  }
  delete metadata.resourceVersion;
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
