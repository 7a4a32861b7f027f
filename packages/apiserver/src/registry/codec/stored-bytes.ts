import type { KubeObject } from '@multiplane/apimachinery';
import { inSteps, isBig } from './give-way.ts';
import { encodeForStorage, encodeInSteps, encodeWithoutExcess } from './object-codec.ts';

/**
 * The bytes of an object for storage, which an apply may not take the managedFields off; of what is about so big in
 * steps.
 */
export function storedBytes(
  object: KubeObject,
  maxBytes: number | undefined,
  applies: boolean | undefined,
  size: number,
): Buffer | Promise<Buffer> {
  if (isBig(size)) return inSteps(encodeInSteps(object, applies === true, maxBytes), size);
  return applies === true ? encodeForStorage(object, maxBytes) : encodeWithoutExcess(object, maxBytes);
}
