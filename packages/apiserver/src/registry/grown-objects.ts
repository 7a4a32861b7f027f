/**
 * Sizes of objects that a webhook made larger than the body or the stored value: later steps decide by the size whether they run in time
 * slices.
 */
const sizes = new WeakMap<object, number>();

/** `bytes`: the length of the answer. */
export function noteGrown(object: object, bytes: number): void {
  sizes.set(object, Math.max(bytes, sizes.get(object) ?? 0));
}

/** About the length of an object in bytes; `known`: that of the body or the stored value that it comes from. */
export const grownSize = (object: object | undefined, known: number): number =>
  object === undefined ? known : Math.max(known, sizes.get(object) ?? 0);
