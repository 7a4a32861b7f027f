import { type KubeObject, apiVersionOf, asJson, runToCompletion } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/**
 * Converts a stored object to the version of the definition, in place: by the kind's converter, or by renaming, and then by
 * pruning and defaulting with the current schema.
 */
export const fromStorage = (definition: ResourceDefinition, object: KubeObject): KubeObject =>
  runToCompletion(fromStorageIncrementally(definition, object));

/** {@link fromStorage} with pauses between its passes. */
export function* fromStorageIncrementally(
  definition: ResourceDefinition,
  object: KubeObject,
): Generator<void, KubeObject> {
  const apiVersion = apiVersionOf(definition);
  const other = object.apiVersion === apiVersion ? undefined : definition.schemaOf?.(object.apiVersion);
  other?.applyDefaults(asJson(object));
  yield;
  if (definition.converter !== undefined) definition.converter.fromStorage(object);
  else if (object.apiVersion !== apiVersion) definition.fromOlder?.(object);
  object.apiVersion = apiVersion;
  object.kind = definition.kind;
  if (definition.origin === 'custom') {
    yield;
    definition.schema.prune(asJson(object));
    yield;
    if (other === undefined) definition.schema.applyDefaults(asJson(object));
  }
  return object;
}

/** Converts an object to the storage version, in place. */
export function toStorage(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { storage } = definition;
  if (storage === undefined) throw new TypeError(`${definition.resource} has no storage version`);
  definition.converter?.toStorage(object);
  object.apiVersion = apiVersionOf(storage);
  object.kind = storage.kind;
  return object;
}
