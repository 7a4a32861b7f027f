import {
  type DeepReadonly,
  type JsonObject,
  type Json,
  type TypedSchema,
  ListItemError,
  isJsonObject,
  mergeTyped,
  TypedValueError,
  validateTyped,
} from '@multiplane/apimachinery';
import { CelError, checkObjectTypeName, jsonOfValue, type CelValue } from '@multiplane/schema';
import { atomicPaths } from './atomic-paths.ts';

/** A mutation that cannot be made. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

/**
 * Lays what an expression made over an object (K6.7): maps field by field, keyed lists item by item. What is owned as a
 * whole cannot be changed in part, so it cannot be changed at all. Throws {@link MutationError}.
 */
export function withConfiguration(object: DeepReadonly<JsonObject>, value: CelValue, schema: TypedSchema): JsonObject {
  let config: Json;
  try {
    config = jsonOfValue(value, checkObjectTypeName);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    throw new MutationError(`invalid ApplyConfiguration: ${error.message}`, { cause: error });
  }
  if (!isJsonObject(config)) throw new MutationError('invalid ApplyConfiguration: it is not an object');
  // It is of the object's own kind whether it says so or not.
  const named: JsonObject = { ...config };
  for (const key of ['apiVersion', 'kind'] as const) {
    if (object[key] !== undefined) named[key] = object[key] as Json;
  }
  try {
    validateTyped(named, schema);
    const atomics = atomicPaths(named, schema);
    if (atomics.length > 0)
      throw new MutationError(
        `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
      );
    return mergeTyped(object, named, schema);
  } catch (error) {
    if (error instanceof ListItemError)
      throw new MutationError(`invalid ApplyConfiguration: ${error.message}`, { cause: error });
    if (error instanceof TypedValueError) {
      const why = `failed to convert patch object to typed object: ${error.message}`;
      throw new MutationError(`invalid ApplyConfiguration: ${why}`, { cause: error });
    }
    throw error;
  }
}
