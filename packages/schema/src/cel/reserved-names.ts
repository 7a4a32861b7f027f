const reserved: ReadonlySet<string> = new Set(
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

/** The name that a field with the name of a reserved word has in an expression, where it may also be written as it is. */
export const reservedFieldName = (name: string): string | undefined => (reserved.has(name) ? `__${name}__` : undefined);

const spelledOut: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

/** The name in the object of a field that an expression names. Undefined: what is spelled out there means nothing. */
export function unescapeFieldName(escaped: string): string | undefined {
  let valid = true;
  const name = escaped.replaceAll(/__([^_]+)__/g, (mark, content: string) => {
    const character = Object.hasOwn(spelledOut, content) ? spelledOut[content] : undefined;
    if (character !== undefined) return character;
    if (!reserved.has(content) || mark.length !== escaped.length) valid = false;
    return content;
  });
  return valid ? name : undefined;
}
