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

/** What is asked of a shard for a new logical cluster. */
export interface ShardWish {
  readonly selector: LabelSelector;
  /** This one, unless it does not fit or is notably fuller than the others. */
  readonly preferred?: string | undefined;
}

/** A shard that may be chosen. */
interface Fitting {
  readonly shard: DeepReadonly<Shard>;
  readonly load: number;
  /** Undefined for a shard without one, or with one that is no number. */
  readonly capacity: number | undefined;
}

/** So much more than its part a shard may hold before it is notably fuller; a few logical clusters are no load at all. */
const tolerated = { factor: 1.25, constant: 100 } as const;

/**
 * The shard for a new logical cluster (C5.1): one that fits the selector, is not closed for new ones, is alive and is not
 * full; undefined when there is none. Among those it is the preferred one as long as that is not notably fuller, so that
 * what belongs together stays together (new here). Otherwise chance decides, in proportion to what is left of each one's
 * capacity; shards without a capacity count like the emptiest of the others. `random` is within [0, 1).
 *
 * A preferred shard that is too full shares with all the others by chance: none of them, however empty, gets more than its
 * part at once. Loads are told some seconds late, so a shard passes the mark by what comes within those, and no more.
 */
export function chooseShard(
  candidates: readonly DeepReadonly<Shard>[],
  { selector, preferred }: ShardWish,
  state: ShardState,
  random: () => number,
): DeepReadonly<Shard> | undefined {
  const fitting: Fitting[] = candidates
    .filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        !Object.hasOwn(metadata.annotations ?? {}, unschedulableAnnotation) &&
        selector.matches(metadata.labels ?? {}) &&
        state.isAlive(metadata.name ?? ''),
    )
    .map((shard) => ({ shard, load: state.load(shard.metadata.name ?? ''), capacity: capacityOf(shard) }))
    .filter(({ load, capacity }) => capacity === undefined || load < capacity);
  const wanted = preferred === undefined ? undefined : fitting.find(({ shard }) => shard.metadata.name === preferred);
  if (wanted !== undefined && !isNotablyFuller(wanted, fitting)) return wanted.shard;
  const most = Math.max(1, ...fitting.map(({ load, capacity = 0 }) => capacity - load));
  const weighed = fitting.map(({ shard, load, capacity }) => ({
    shard,
    weight: capacity === undefined ? most : capacity - load,
  }));
  let at = random() * weighed.reduce((sum, { weight }) => sum + weight, 0);
  for (const { shard, weight } of weighed) {
    at -= weight;
    if (at < 0) return shard;
  }
  return weighed.at(-1)?.shard;
}

/**
 * True for a shard that holds more than a quarter, and a hundred, beyond its part of what all of them hold. Parts are as
 * capacities are; shards without a capacity count like the largest of the others.
 */
function isNotablyFuller(one: Fitting, all: readonly Fitting[]): boolean {
  const largest = Math.max(1, ...all.map(({ capacity = 0 }) => capacity));
  const sizeOf = ({ capacity = largest }: Fitting): number => capacity;
  const held = all.reduce((sum, { load }) => sum + load, 0);
  const size = all.reduce((sum, each) => sum + sizeOf(each), 0);
  return one.load > (tolerated.factor * held * sizeOf(one)) / size + tolerated.constant;
}

function capacityOf({ metadata }: DeepReadonly<Shard>): number | undefined {
  const text = metadata.annotations?.[capacityAnnotation];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
