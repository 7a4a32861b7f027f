import {
  labelSelectorFromObject,
  selectEverything,
  type DeepReadonly,
  type Json,
  type LabelSelector,
} from '@multiplane/apimachinery';
import { capacityAnnotation, unschedulableAnnotation, type Shard } from './kinds.ts';

/** What scheduling knows of shards besides the objects. */
export interface ShardState {
  isAlive(shard: string): boolean;
  /** Logical clusters it holds. */
  load(shard: string): number;
  /** Tells when one may take more than it could before: it lives again, or has become emptier. */
  onRelief(listener: () => void): void;
}

/** The selector of `spec.location`; everything when there is none. Throws a SelectorParseError. */
export function shardSelector(selector: DeepReadonly<Json> | undefined): LabelSelector {
  return selector === undefined || selector === null ? selectEverything : labelSelectorFromObject(selector as Json);
}

/**
 * The shard for a new logical cluster (C5.1): one that fits the selector, is not closed for new ones, is alive and is not
 * full. Among those chance decides, in proportion to what is left of each one's capacity; shards without a capacity count
 * like the emptiest of the others. Undefined when there is none. `random` is within [0, 1).
 */
export function chooseShard(
  candidates: readonly DeepReadonly<Shard>[],
  selector: LabelSelector,
  state: ShardState,
  random: () => number,
): DeepReadonly<Shard> | undefined {
  const fitting = candidates
    .filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        !Object.hasOwn(metadata.annotations ?? {}, unschedulableAnnotation) &&
        selector.matches(metadata.labels ?? {}) &&
        state.isAlive(metadata.name ?? ''),
    )
    .map((shard) => ({ shard, left: capacityLeft(shard, state) }));
  const most = Math.max(1, ...fitting.map(({ left }) => left ?? 0));
  const weighed = fitting
    .map(({ shard, left }) => ({ shard, weight: left ?? most }))
    .filter(({ weight }) => weight > 0);
  let at = random() * weighed.reduce((sum, { weight }) => sum + weight, 0);
  for (const { shard, weight } of weighed) {
    at -= weight;
    if (at < 0) return shard;
  }
  return weighed.at(-1)?.shard;
}

/** Logical clusters that still fit; undefined for a shard without a capacity, or with one that is no number. */
function capacityLeft({ metadata }: DeepReadonly<Shard>, state: ShardState): number | undefined {
  const text = metadata.annotations?.[capacityAnnotation];
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Math.max(0, Number(text) - state.load(metadata.name ?? ''));
}
