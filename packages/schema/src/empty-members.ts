const emptyMembers = new WeakMap<object, Set<string>>();

/** Remembers that a field, which is absent in the decoded object, was an empty map or list in the request. */
export function rememberEmptyMember(object: object, field: string): void {
  const known = emptyMembers.get(object);
  if (known === undefined) emptyMembers.set(object, new Set([field]));
  else known.add(field);
}

/**
 * Whether a field of a decoded object that is absent was an empty map or list in the request. A typed server compares the
 * two before it stores them as the same, and quotes them. Not known of objects that admission has replaced.
 */
export const wasEmpty = (object: object, field: string): boolean => emptyMembers.get(object)?.has(field) === true;
