import { type KubeObject, apiVersionOf, asJson } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/**
 * Converts a stored object to the version of the definition, in place: by the kind's converter, or by renaming, and then by
 * pruning and defaulting with the current schema.
 */
export function fromStorage(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(definition);
  const other = object.apiVersion === apiVersion ? undefined : definition.schemaOf?.(object.apiVersion);
  other?.applyDefaults(asJson(object));
  if (definition.converter !== undefined) definition.converter.fromStorage(object);
  else if (object.apiVersion !== apiVersion) definition.fromOlder?.(object);
  object.apiVersion = apiVersion;
  object.kind = definition.kind;
  if (definition.origin === 'custom') {
    definition.schema.prune(asJson(object));
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
