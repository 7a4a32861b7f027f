/** A permutation of `items` that depends on `seed` alone. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  // Seeds that follow one another begin far apart.
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  for (let end = result.length - 1; end > 0; end--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The upper bits: the lower ones of a linear congruential generator have short periods.
    const other = Math.floor((state / 2 ** 32) * (end + 1));
    [result[end], result[other]] = [result[other] as T, result[end] as T];
  }
  return result;
}
