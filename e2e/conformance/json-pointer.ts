/** Values seen in answers: whatever JSON holds. */
export type Value = unknown;

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** What stands at a JSON pointer (RFC 6901); undefined where the way ends. */
export function at(document: Value, pointer: string): Value {
  let value = document;
  for (const token of tokensOf(pointer))
    value = typeof value === 'object' && value !== null ? (value as Record<string, Value>)[token] : undefined;
  return value;
}

/** Puts a value at a pointer whose parent exists. */
export function put(document: Value, pointer: string, value: Value): void {
  const last = tokensOf(pointer).at(-1) as string;
  (at(document, pointer.slice(0, pointer.lastIndexOf('/'))) as Record<string, Value>)[last] = value;
}

/** Removes what the pointers name, in place; `*` stands for every key of one level. */
export function drop<T>(document: T, pointers: readonly string[] = []): T {
  const walk = (value: Value, [token, ...rest]: readonly string[]): void => {
    if (typeof value !== 'object' || value === null || token === undefined) return;
    const object = value as Record<string, Value>;
    for (const key of token === '*' ? Object.keys(object) : [token]) {
      if (rest.length > 0) walk(object[key], rest);
      else delete object[key];
    }
  };
  for (const pointer of pointers) walk(document, tokensOf(pointer));
  return document;
}
