import { labelSelectorFromObject, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import type { PartitionSelector, PartitionSetSpec } from './kinds.ts';

/** What a Partition of a set is made from. */
export interface WantedPartition {
  readonly generateName: string;
  readonly selector: PartitionSelector;
}

/** Of a name that the server completes: one less than a DNS subdomain, for the dash at its end. */
const longestPrefix = 252;

/**
 * The partitions of a set, in the order of their values: one for each tuple of values that the labels of its dimensions,
 * and those its selector names, have on the shards it selects. A shard without one of the labels is in none (C5.17).
 *
 * Throws `SelectorParseError` for a selector that says nothing sensible.
 */
export function partitionsOf(
  set: string,
  spec: DeepReadonly<PartitionSetSpec>,
  shardLabels: readonly Readonly<Record<string, string>>[],
): WantedPartition[] {
  const { dimensions = [], shardSelector = {} } = spec;
  const selector = labelSelectorFromObject(shardSelector as Json);
  const { matchExpressions } = shardSelector;
  const keys = [...new Set([...dimensions, ...Object.keys(shardSelector.matchLabels ?? {})])].toSorted();
  const wanted = new Map<string, WantedPartition>();
  for (const labels of shardLabels) {
    if (!selector.matches(labels) || !keys.every((key) => Object.hasOwn(labels, key))) continue;
    const values = keys.map((key) => [key, labels[key] as string] as const);
    const named = dimensions.toSorted().map((key) => (labels[key] as string).toLowerCase());
    wanted.set(JSON.stringify(values), {
      generateName: `${[set, ...named].join('-').slice(0, longestPrefix)}-`,
      selector: {
        matchLabels: Object.fromEntries(values),
        ...(matchExpressions === undefined ? {} : { matchExpressions: matchExpressions as readonly Json[] }),
      },
    });
  }
  return [...wanted.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, partition]) => partition);
}
