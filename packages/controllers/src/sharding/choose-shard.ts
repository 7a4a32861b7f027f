import {
  labelSelectorFromObject,
  selectEverything,
  type DeepReadonly,
  type Json,
  type LabelSelector,
} from '@multiplane/apimachinery';
import { capacityAnnotation, unschedulableAnnotation, type Shard } from './kinds.ts';

/** The state of shards that scheduling uses besides the Shard objects. */
export interface ShardState {
  isAlive(shard: string): boolean;
  /** Number of logical clusters on a shard. */
  load(shard: string): number;
  /** Calls the listener when a shard is alive again or holds fewer logical clusters. */
  onAvailable(listener: () => void): void;
}

/** The selector of `spec.location`; selects everything if absent. Throws SelectorParseError. */
export function shardSelector(selector: DeepReadonly<Json> | undefined): LabelSelector {
  return selector === undefined || selector === null ? selectEverything : labelSelectorFromObject(selector as Json);
}

/** Requirements of a new logical cluster. */
export interface ShardRequest {
  readonly selector: LabelSelector;
  /** Chosen unless it does not fit or is overloaded compared to the others. */
  readonly preferred?: string | undefined;
}

/** A shard that may be chosen. */
interface Candidate {
  readonly shard: DeepReadonly<Shard>;
  readonly load: number;
  /** Undefined if the annotation is absent or not a number. */
  readonly capacity: number | undefined;
}

/** A preferred shard is overloaded above `factor` times its share plus `constant` logical clusters. */
const tolerated = { factor: 1.25, constant: 100 } as const;

/**
 * Chooses the shard of a new logical cluster (kcp: pkg/reconciler/tenancy/workspace/workspace_reconcile_scheduling.go): a
 * shard that matches the selector, is schedulable, alive and not full; undefined if there is none. `random` is in [0, 1).
 *
 * Unlike in kcp, the preferred shard is chosen while it is not overloaded, so that the workspaces of a tree stay together.
 * Otherwise the choice is random, weighted by free capacity; shards without a capacity have the weight of the emptiest
 * other shard. An overloaded preferred shard takes part in the random choice, so that no single shard gets all new
 * workspaces. Loads arrive some seconds late, which bounds how far a shard exceeds its limit.
 */
export function chooseShard(
  candidates: readonly DeepReadonly<Shard>[],
  { selector, preferred }: ShardRequest,
  state: ShardState,
  random: () => number,
): DeepReadonly<Shard> | undefined {
  const fitting: Candidate[] = candidates
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
  if (wanted !== undefined && !isOverloaded(wanted, fitting)) return wanted.shard;
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
 * Whether a shard holds more than its share by {@link tolerated}. Shares are proportional to capacities; a shard without a
 * capacity counts like the largest one.
 */
function isOverloaded(one: Candidate, all: readonly Candidate[]): boolean {
  const largest = Math.max(1, ...all.map(({ capacity = 0 }) => capacity));
  const sizeOf = ({ capacity = largest }: Candidate): number => capacity;
  const held = all.reduce((sum, { load }) => sum + load, 0);
  const size = all.reduce((sum, each) => sum + sizeOf(each), 0);
  return one.load > (tolerated.factor * held * sizeOf(one)) / size + tolerated.constant;
}

function capacityOf({ metadata }: DeepReadonly<Shard>): number | undefined {
  const text = metadata.annotations?.[capacityAnnotation];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
