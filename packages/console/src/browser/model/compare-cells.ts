const collator = new Intl.Collator('en', { numeric: true });

/** What a cell shows of a value that a server or a page computed. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}

/** Orders what stands in a column: nothing last, numbers by value, everything else by its text with numbers inside counted. */
export function compareCells(a: unknown, b: unknown): number {
  const isMissingA = a === undefined || a === null || a === '';
  const isMissingB = b === undefined || b === null || b === '';
  if (isMissingA || isMissingB) return Number(isMissingA) - Number(isMissingB);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return collator.compare(cellText(a), cellText(b));
}
