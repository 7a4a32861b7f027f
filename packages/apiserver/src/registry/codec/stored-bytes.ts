import type { KubeObject } from '@multiplane/apimachinery';
import { type Abortable, inTimeSlices, isLarge } from '../../time-slices.ts';
import { encodeForStorage, encodeIncrementally, encodeWithoutExcess } from './object-codec.ts';

/**
 * Encodes an object for storage, a large one (`size`) in time slices. An object that exceeds `maxBytes` only because of its
 * managedFields is stored without them, except by an apply.
 */
export function storedBytes(
  object: KubeObject,
  maxBytes: number | undefined,
  isApply: boolean | undefined,
  size: number,
  request?: Abortable,
): Buffer | Promise<Buffer> {
  if (isLarge(size)) return inTimeSlices(encodeIncrementally(object, isApply === true, maxBytes), size, request);
  return isApply === true ? encodeForStorage(object, maxBytes) : encodeWithoutExcess(object, maxBytes);
}
