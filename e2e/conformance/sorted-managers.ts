import type { Value } from './json-pointer.ts';

/** Sorts `managedFields` in place. A server sorts managers by time too, so their order varies from run to run. */
export function sortedManagers<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'managedFields' && Array.isArray(inner))
        inner.sort((a: Value, b: Value) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      else sortedManagers(inner as Value);
    }
  }
  return value;
}
