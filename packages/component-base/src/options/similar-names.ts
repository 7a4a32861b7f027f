const maxDistance = 2;

/** The names that a misspelt one may stand for, best first: few letters differ, or it is their beginning. */
export function similarNames(misspelt: string, names: Iterable<string>): string[] {
  const wanted = misspelt.toLowerCase();
  if (wanted === '') return [];
  // Of a short name two letters would be most of it.
  const limit = Math.min(maxDistance, Math.ceil(wanted.length / 2) - (wanted.length < 3 ? 0 : 1));
  return [...new Set(names)]
    .map((name): [name: string, distance: number] => {
      const candidate = name.toLowerCase();
      return [name, candidate.startsWith(wanted) ? 0 : distanceBetween(wanted, candidate)];
    })
    .filter(([, distance]) => distance <= limit)
    .sort(([a, far], [b, farther]) => far - farther || (a < b ? -1 : 1))
    .map(([name]) => name);
}

/** The text after an error about a misspelt name, as kubectl prints it; empty without a similar name. */
export function suggestionText(misspelt: string, names: Iterable<string>): string {
  const similar = similarNames(misspelt, names);
  return similar.length === 0 ? '' : `\n\nDid you mean this?\n${similar.map((name) => `\t${name}`).join('\n')}`;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment) that make one text of the other. */
function distanceBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > maxDistance) return maxDistance + 1;
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isEqual = a[i - 1] === b[j - 1];
      let least = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (isEqual ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (beforeLast[j - 2] as number) + 1);
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] as number;
}
