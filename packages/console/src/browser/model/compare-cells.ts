const collator = new Intl.Collator('en', { numeric: true });

/** Orders what stands in a column: nothing last, numbers by value, everything else by its text with numbers inside counted. */
export function compareCells(a: unknown, b: unknown): number {
  const isMissingA = a === undefined || a === null || a === '';
  const isMissingB = b === undefined || b === null || b === '';
  if (isMissingA || isMissingB) return Number(isMissingA) - Number(isMissingB);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return collator.compare(String(a), String(b));
}
