import { type KubeObject, isStatusError } from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import { ValueTooLargeError } from '@multiplane/storage';
import { encodeForStorage } from './object-codec.ts';

/**
 * Encodes an object for storage. An object that is too large only because of its managedFields is stored without them, except
 * by an apply: the write is worth more than the ownership. Removes them in place.
 */
export async function storedBytes(
  object: KubeObject,
  maxBytes: number | undefined,
  isApply: boolean | undefined,
  work: RequestWork,
): Promise<Buffer> {
  await work.pause();
  try {
    return encodeForStorage(object, maxBytes);
  } catch (error) {
    const isTooLarge = error instanceof ValueTooLargeError || isStatusError(error, 'RequestEntityTooLarge');
    if (!isTooLarge || isApply === true || object.metadata.managedFields === undefined) throw error;
  }
  delete object.metadata.managedFields;
  await work.pause();
  return encodeForStorage(object, maxBytes);
}
