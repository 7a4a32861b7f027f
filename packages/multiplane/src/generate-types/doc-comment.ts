/** A doc comment of these paragraphs, indented, with a line break behind it; nothing without a text. */
export function docComment(paragraphs: readonly (string | undefined)[], indent = ''): string {
  const lines = paragraphs
    .filter((paragraph) => paragraph !== undefined && paragraph.trim() !== '')
    // A comment must not end within a description.
    .map((paragraph) => (paragraph as string).trim().replaceAll('*/', '*\\/'))
    .join('\n\n')
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => line.trimEnd());
  if (lines.length === 1) return lines[0] === '' ? '' : `${indent}/** ${lines[0]} */\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */\n`].join('\n');
}
