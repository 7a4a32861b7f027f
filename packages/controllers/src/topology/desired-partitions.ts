import { labelSelectorFromObject, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import type { PartitionSelector, PartitionSetSpec } from './kinds.ts';

/** The parts of a Partition that depend on the set. */
export interface DesiredPartition {
  readonly generateName: string;
  readonly selector: PartitionSelector;
}

/** Length of `generateName` without the final dash: a DNS subdomain has 253 characters. */
const maxPrefixLength = 252;

/**
 * The partitions of a set, sorted by label values: one for each distinct tuple of values that the selected shards have for
 * the labels of its dimensions and of its selector's matchLabels. Shards without one of the labels are in no partition, and
 * without any label there is none (kcp: pkg/reconciler/topology/partitionset).
 *
 * Throws `SelectorParseError` for an invalid selector.
 */
export function desiredPartitions(
  set: string,
  spec: DeepReadonly<PartitionSetSpec>,
  shardLabels: readonly Readonly<Record<string, string>>[],
): DesiredPartition[] {
  const { dimensions = [], shardSelector = {} } = spec;
  const selector = labelSelectorFromObject(shardSelector as Json);
  const { matchExpressions } = shardSelector;
  const keys = [...new Set([...dimensions, ...Object.keys(shardSelector.matchLabels ?? {})])].toSorted();
  if (keys.length === 0) return [];
  const wanted = new Map<string, DesiredPartition>();
  for (const labels of shardLabels) {
    if (!selector.matches(labels) || !keys.every((key) => Object.hasOwn(labels, key))) continue;
    const values = keys.map((key) => [key, labels[key] as string] as const);
    const named = dimensions.toSorted().map((key) => (labels[key] as string).toLowerCase());
    wanted.set(JSON.stringify(values), {
      generateName: `${[set, ...named].join('-').slice(0, maxPrefixLength)}-`,
      selector: {
        matchLabels: Object.fromEntries(values),
        ...(matchExpressions === undefined ? {} : { matchExpressions: matchExpressions as readonly Json[] }),
      },
    });
  }
  return [...wanted.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, partition]) => partition);
}
