import {
  type DeepReadonly,
  type JsonObject,
  type Json,
  type TypedSchema,
  ListElements,
  ListItemError,
  isJsonObject,
  isStatusError,
  mergeIncrementally,
  TypedValueError,
  validateTyped,
} from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import { CelError, checkObjectTypeName, jsonOfValue, type CelValue } from '@multiplane/schema';
import { atomicPaths } from './atomic-paths.ts';

/** A mutation cannot be applied. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

/**
 * Merges an apply configuration into an object: maps field by field, keyed lists item by item. Atomic lists, maps and
 * structs are rejected. Throws {@link MutationError}.
 */
export async function withConfiguration(
  object: DeepReadonly<JsonObject>,
  value: CelValue,
  schema: TypedSchema,
  work: RequestWork,
): Promise<JsonObject> {
  let config: Json;
  try {
    config = jsonOfValue(value, { onStruct: checkObjectTypeName, as: 'configuration' });
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    throw new MutationError(`type mismatch: ${error.message}`, { cause: error });
  }
  await work.pause();
  if (!isJsonObject(config)) throw new MutationError('invalid return type: it is not an object');
  // The configuration has the object's apiVersion and kind even if it sets none.
  const configuration: JsonObject = { ...config };
  for (const key of ['apiVersion', 'kind'] as const) {
    if (object[key] !== undefined) configuration[key] = object[key] as Json;
  }
  try {
    const elements = new ListElements();
    validateTyped(configuration, schema, elements);
    await work.pause();
    const atomics = atomicPaths(configuration, schema);
    await work.pause();
    if (atomics.length > 0)
      throw new MutationError(
        `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
      );
    return await work.run(mergeIncrementally(object, configuration, schema, elements));
  } catch (error) {
    if (error instanceof ListItemError || isStatusError(error))
      throw new MutationError(`error applying patch: ${error.message}`, { cause: error });
    if (error instanceof TypedValueError) {
      const why = `failed to convert patch object to typed object: ${error.message}`;
      throw new MutationError(`error applying patch: ${why}`, { cause: error });
    }
    throw error;
  }
}
