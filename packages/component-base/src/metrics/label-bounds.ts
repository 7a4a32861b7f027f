/** Label names with their values, or with the maximum number of values; further values are counted as `other`. */
export type Labels<L extends string> = Readonly<Record<L, number | readonly string[]>>;

interface BoundOptions<L extends string> {
  readonly name: string;
  readonly labels?: Labels<L> | undefined;
  readonly maxLabelSets?: number | undefined;
}

type Values<L extends string> = Readonly<Record<L, string>>;

/** Labels that grow with tenants or expose them. */
const forbiddenLabels = new Set([
  'workspace',
  'cluster',
  'logical_cluster',
  'user',
  'username',
  'namespace',
  'path',
  'uid',
]);
const other = 'other';
/** Of the permitted combinations, so many are kept for those whose open labels were replaced. */
const foldedShare = 0.25;

/**
 * Bounds the series of a metric. The result replaces label values in three steps:
 *
 * 1. a value beyond the bound of its label becomes `other`;
 * 2. when three quarters of `maxLabelSets` combinations exist, the labels without a fixed list of values become `other`;
 * 3. when one combination is left, all labels become `other`, except those with one value.
 *
 * So a sum over all series of a metric stays exact, and the combinations of fixed values (verb, code) are the last to go.
 * Throws for a label that grows with tenants.
 */
export function boundLabels<L extends string>(options: BoundOptions<L>): (values?: Values<L>) => Values<L> {
  const { name, labels } = options;
  const names = Object.keys(labels ?? {}) as L[];
  const seen = names.map((label) => {
    if (forbiddenLabels.has(label))
      throw new Error(`metric ${name}: label ${label} is forbidden because it grows with tenants`);
    const bound = (labels as Labels<L>)[label];
    const isOpen = typeof bound === 'number';
    const values = new Set<string>(isOpen ? [] : bound);
    return { label, values, max: isOpen ? bound : values.size, isOpen };
  });
  const max = maxLabelSets(options);
  const firstStage = max - Math.ceil(max * foldedShare);
  const sets = new Set<string>();
  const isPermitted = (values: Values<L>, limit: number): boolean => {
    const key = names.map((label) => values[label]).join('\u0000');
    if (sets.has(key)) return true;
    if (sets.size >= limit) return false;
    sets.add(key);
    return true;
  };
  const replace = (values: Values<L>, which: (entry: (typeof seen)[number]) => boolean): Values<L> => {
    const result = { ...values } as Record<L, string>;
    for (const entry of seen) if (which(entry)) result[entry.label] = other;
    return result;
  };
  const isLimited = options.maxLabelSets !== undefined;
  return (given) => {
    const result = { ...given } as Record<L, string>;
    for (const { label, values, max: maxValues } of seen) {
      const value = result[label];
      if (values.has(value)) continue;
      if (values.size < maxValues) values.add(value);
      else result[label] = other;
    }
    if (!isLimited || isPermitted(result, firstStage)) return result;
    const folded = replace(result, ({ isOpen }) => isOpen);
    return isPermitted(folded, max - 1) ? folded : replace(folded, ({ max: maxValues }) => maxValues > 1);
  };
}

/** The most combinations of label values that {@link boundLabels} returns; those with `other` included. */
export function maxLabelSets<L extends string>({ labels, maxLabelSets: max }: BoundOptions<L>): number {
  if (max !== undefined) return max;
  return Object.values<number | readonly string[]>(labels ?? {}).reduce<number>((product, bound) => {
    const values = typeof bound === 'number' ? bound : bound.length;
    return product * (values > 1 ? values + 1 : 1);
  }, 1);
}
