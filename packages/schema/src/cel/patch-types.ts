import { CelError } from './cel-error.ts';
import { dynType, openStructType, stringType, structType, type CelType } from './types.ts';

/** One operation of a JSON patch, as mutating admission policies make them. */
export const jsonPatchType: CelType = structType(
  'JSONPatch',
  new Map([
    ['op', stringType],
    ['path', stringType],
    ['from', stringType],
    ['value', dynType],
  ]),
);
/** The configuration that a mutating admission policy applies. */
export const objectType: CelType = openStructType('Object');

const nested = /^Object(\.[A-Za-z_][A-Za-z0-9_]*)+$/;

/**
 * Types that mutating admission policies may make values of: `JSONPatch`, `Object`, and for a part of the object the type
 * that is named after its path (`Object.spec.template`). Fields of objects are not known here.
 */
export function patchStructs(name: string): CelType | undefined {
  if (name === jsonPatchType.name) return jsonPatchType;
  if (name === objectType.name) return objectType;
  return nested.test(name) ? openStructType(name) : undefined;
}

/** A part of an object must be made of the type that is named after its path. Throws CelError. */
export function checkObjectTypeName(name: string, path: readonly string[]): void {
  const expected = [objectType.name, ...path].join('.');
  if (name === expected) return;
  throw new CelError(
    `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(expected)}, which matches field name path from root Object type`,
  );
}
