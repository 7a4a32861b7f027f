/** The tests that docs/compatibility.md lists below a heading: they fail on purpose. */
export function deliberateFailures(document: string, heading: string): ReadonlySet<string> {
  const start = document.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`docs/compatibility.md has no section ${heading}`);
  const end = document.indexOf('\n## ', start + 1);
  const rows = document.slice(start, end < 0 ? undefined : end).matchAll(/^\| (`.*?) \|/gm);
  return new Set(
    Array.from(rows).flatMap(([, cell = '']) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, test = '']) => test)),
  );
}
