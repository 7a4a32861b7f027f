const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const marks: Readonly<Record<string, string>> = { __: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash' };

/**
 * The name by which expressions select a field: `__` and the characters `.`, `-` and `/` are spelled out, as are
 * reserved words. Undefined: the field cannot be named.
 */
export function escapeFieldName(name: string): string | undefined {
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replaceAll(/__|[.\-/]/g, (mark) => `__${marks[mark]}__`);
}
