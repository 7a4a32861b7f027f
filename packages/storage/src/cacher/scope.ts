/** A scope is a prefix, which ends with `/` (or is empty: everything), or a complete key, which does not. */
export function inScope(scope: string, key: string): boolean {
  return scope === '' || (scope.endsWith('/') ? key.startsWith(scope) : key === scope);
}

/** The first key after the scope; undefined: there is none. */
export function scopeEnd(scope: string): string | undefined {
  if (scope === '') return undefined;
  // '0' follows '/' in ASCII, so this is the first string after all strings with the prefix.
  return scope.endsWith('/') ? `${scope.slice(0, -1)}0` : `${scope}\0`;
}

/** `/registry/<group>/<resource>/` of a key or scope; undefined when it has fewer segments. */
export function resourcePrefixOf(key: string): string | undefined {
  let slash = 0;
  for (let i = 0; i < 3; i++) {
    slash = key.indexOf('/', slash + 1);
    if (slash < 0) return undefined;
  }
  return key.slice(0, slash + 1);
}

/**
 * The segment after the resource of a key or scope: an identity, `customresources`, or the logical cluster of a built-in
 * kind. Undefined when it has fewer segments.
 */
export function identityOf(key: string): string | undefined {
  let start = 0;
  for (let i = 0; i < 4; i++) {
    const slash = key.indexOf('/', start);
    if (slash < 0) return undefined;
    start = slash + 1;
  }
  const end = key.indexOf('/', start);
  return end < 0 ? undefined : key.slice(start, end);
}
