/** The least and the most that something costs, or how large it is. Amounts stop at 2^64. */
export interface Range {
  readonly min: number;
  readonly max: number;
}
export const ceiling = 2 ** 64;
const cap = (value: number): number => Math.min(value, ceiling);

export const fixed = (value: number): Range => ({ min: value, max: value });
export const unknownSize: Range = { min: 0, max: ceiling };
export const addRanges = (...ranges: readonly Range[]): Range => {
  let [min, max] = [0, 0];
  for (const range of ranges) {
    min = cap(min + range.min);
    max = cap(max + range.max);
  }
  return { min, max };
};
export const multiply = (left: Range, right: Range): Range => ({
  min: cap(left.min * right.min),
  max: cap(left.max * right.max),
});
export const scale = (range: Range, factor: number): Range => ({
  min: cap(Math.ceil(range.min * factor)),
  max: cap(Math.ceil(range.max * factor)),
});
export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});
