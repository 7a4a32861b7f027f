/** The tests that docs/compatibility.md lists below "kcp's end-to-end tests": they fail on purpose. */
export function deliberateFailures(document: string): ReadonlySet<string> {
  const start = document.indexOf("## kcp's end-to-end tests");
  if (start < 0) throw new Error("docs/compatibility.md has no section kcp's end-to-end tests");
  const end = document.indexOf('\n## ', start + 1);
  const rows = document.slice(start, end < 0 ? undefined : end).matchAll(/^\| (`Test.*?) \|/gm);
  return new Set(
    Array.from(rows).flatMap(([, cell = '']) => Array.from(cell.matchAll(/`(\w+)`/g), ([, test = '']) => test)),
  );
}
