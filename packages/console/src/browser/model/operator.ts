import type { Tone } from './tone.ts';

export interface PriorityLevel {
  readonly priorityLevel: string;
  readonly inQueue: number;
  readonly executing: number;
  readonly rejected: number;
  readonly seats: number;
}

export interface PendingWorkspace {
  readonly name: string;
  readonly cluster: string;
  readonly phase: string;
  readonly creationTimestamp: string;
  readonly reasons: readonly string[];
}

/** What the console's backend answers to `operator/metrics`, of one shard. */
export interface ShardFigures {
  readonly name: string;
  readonly url: string;
  readonly error?: string;
  readonly failedChecks?: readonly string[];
  readonly requests?: {
    readonly total: number;
    readonly errors: number;
    readonly inFlight: number;
    readonly watches: number;
  };
  readonly eventLoopDelay?: number;
  readonly memoryBytes?: number;
  readonly logicalClusters?: Readonly<Record<string, number>>;
  readonly pendingCount?: number;
  readonly replication?: { readonly waiting: number; readonly lagSeconds?: number };
  readonly flowControl?: readonly PriorityLevel[];
  /** Absent if the user may not list them. */
  readonly pendingWorkspaces?: readonly PendingWorkspace[];
}

export interface Tenant {
  readonly cluster: string;
  readonly shard: string;
  readonly objects: number;
  readonly bytes: number;
  readonly watches: number;
  readonly requests: number;
}

interface State {
  readonly tone: Tone;
  readonly text: string;
  readonly detail: string;
}

/** Above this the process cannot keep up with its work (docs/operate.md). */
const overloadedDelay = 0.05;
/** A change reaches other shards within a second or two. */
const lateSeconds = 10;

/** How a shard does, in a word; the worst comes first. */
export function shardState({ error, failedChecks = [], eventLoopDelay = 0, replication }: ShardFigures): State {
  if (error !== undefined) return { tone: 'bad', text: 'No answer', detail: error };
  if (failedChecks.length > 0)
    return { tone: 'bad', text: 'Not ready', detail: `These checks fail: ${failedChecks.join(', ')}.` };
  if (eventLoopDelay > overloadedDelay)
    return {
      tone: 'warn',
      text: 'Overloaded',
      detail: `Its event loop is ${secondsText(eventLoopDelay)} late; above 50 ms it cannot keep up.`,
    };
  if ((replication?.lagSeconds ?? 0) > lateSeconds)
    return {
      tone: 'warn',
      text: 'Replication late',
      detail: `A change waits for ${secondsText(replication?.lagSeconds ?? 0)} to reach other shards.`,
    };
  return { tone: 'good', text: 'Ready', detail: 'All checks of readyz pass.' };
}

export const workspaceCount = ({ logicalClusters = {} }: ShardFigures): number =>
  Object.values(logicalClusters).reduce((sum, count) => sum + count, 0);

/** What one sees first. */
export function totalsOf(shards: readonly ShardFigures[]): {
  readonly ready: number;
  readonly workspaces: number;
  readonly pending: number;
  readonly inFlight: number;
  readonly watches: number;
} {
  const sum = (of: (shard: ShardFigures) => number): number => shards.reduce((total, shard) => total + of(shard), 0);
  return {
    ready: shards.filter((shard) => shard.error === undefined && (shard.failedChecks ?? []).length === 0).length,
    workspaces: sum(workspaceCount),
    pending: sum(({ pendingCount = 0 }) => pendingCount),
    inFlight: sum(({ requests }) => requests?.inFlight ?? 0),
    watches: sum(({ requests }) => requests?.watches ?? 0),
  };
}

/** Priority levels summed over the shards, the busiest first. */
export function levelsOf(shards: readonly ShardFigures[]): readonly PriorityLevel[] {
  const levels = new Map<string, PriorityLevel>();
  for (const { flowControl = [] } of shards)
    for (const level of flowControl) {
      const known = levels.get(level.priorityLevel);
      levels.set(
        level.priorityLevel,
        known === undefined
          ? level
          : {
              priorityLevel: level.priorityLevel,
              inQueue: known.inQueue + level.inQueue,
              executing: known.executing + level.executing,
              rejected: known.rejected + level.rejected,
              seats: known.seats + level.seats,
            },
      );
    }
  return [...levels.values()].sort((a, b) => b.inQueue - a.inQueue || b.executing - a.executing || b.seats - a.seats);
}

/** Whether a level has room, waits or turns requests away. */
export function levelState({ inQueue, rejected, executing, seats }: PriorityLevel): State {
  if (inQueue > 0)
    return { tone: 'warn', text: 'Queueing', detail: `${inQueue} requests wait for one of ${seats} seats.` };
  if (rejected > 0)
    return {
      tone: 'info',
      text: 'Has rejected',
      detail: `${rejected} requests were rejected with 429 since the shards were started.`,
    };
  return executing === 0
    ? { tone: 'neutral', text: 'Idle', detail: 'No request is being executed.' }
    : { tone: 'good', text: 'Has room', detail: 'No request waits.' };
}

/** `0`, `9 ms`, `1.5 s`, `4 min`. */
export function secondsText(seconds: number): string {
  if (seconds < 0.0005) return '0 ms';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  return `${Math.round(seconds / 60)} min`;
}

const number = new Intl.NumberFormat('en');
export const countText = (count: number): string => number.format(count);
