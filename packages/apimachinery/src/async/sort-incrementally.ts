/** Items that are compared or merged in one pass: one or two milliseconds. */
const perPass = 2_000;

/** Merge sort with pauses; a short list is sorted in one piece. Stable. May sort in place. */
export function* sortIncrementally<T>(items: T[], compare: (a: T, b: T) => number): Generator<void, T[]> {
  if (items.length <= perPass) return items.sort(compare);
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += perPass) {
    runs.push(items.slice(start, start + perPass).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2)
      merged.push(yield* mergedRuns(runs[index] as T[], runs[index + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] as T[];
}

function* mergedRuns<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[]> {
  const merged: T[] = [];
  let at = 0;
  for (const item of left) {
    for (; at < right.length && compare(right[at] as T, item) < 0; at++) {
      merged.push(right[at] as T);
      if (merged.length % perPass === 0) yield;
    }
    merged.push(item);
    if (merged.length % perPass === 0) yield;
  }
  for (; at < right.length; at++) merged.push(right[at] as T);
  yield;
  return merged;
}

/** The order of `sort` without a function. */
export const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
