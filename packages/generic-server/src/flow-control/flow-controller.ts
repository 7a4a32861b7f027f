import type { UserInfo } from '@multiplane/apimachinery';
import {
  TimeSlicedQueue,
  type Clock,
  type EventLoopScheduler,
  type MetricsRegistry,
  type Timer,
} from '@multiplane/component-base';
import type { RequestInfo } from '../request/request-info.ts';
import { FairQueueSet, type Admission } from './fair-queue-set.ts';
import { FlowControlMetrics, type LevelGauges, type RejectionReason } from './flow-control-metrics.ts';
import type { FlowControlConfiguration, PriorityLevel, Queuing } from './flow-control-configuration.ts';
import { FlowSchemaMatcher } from './flow-schema-matcher.ts';
import { FlowClass, FlowTicket, type Level } from './flow-ticket.ts';
import { RetryAfter } from './retry-after.ts';
import { allocateSeats, seatLimits } from './seat-allocation.ts';
import { TooManyRequestsError } from './too-many-requests-error.ts';
import { WatchCounts } from './watch-counts.ts';
import { WorkEstimator } from './work-estimate.ts';

export interface FlowControllerOptions {
  /** Seats of all priority levels together: requests that execute at the same time. */
  readonly seats: number;
  /** How long a request may wait in a queue. */
  readonly waitLimitMs: number;
  /** The logical cluster of the configuration; see {@link FlowSchemaMatcher}. */
  readonly cluster: string;
}

export interface FlowControllerModules {
  readonly clock: Clock;
  readonly scheduler: EventLoopScheduler;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** Absent: no metrics, for a second controller in a process. */
  readonly registry?: MetricsRegistry | undefined;
  /** Objects that a list reads; undefined if unknown. */
  readonly objectCount?: ((info: RequestInfo) => number | undefined) | undefined;
}

const rebalanceMs = 10_000;
const expiryMs = 500;
/** As in kube-apiserver: how much of an earlier, larger demand remains after one period. */
const demandSmoothing = 0.977;
/** Share of a level's nominal seats that one request may occupy; as in kube-apiserver. */
const maxShareOfRequest = 0.15;
/** Dispatches that are scheduled for one iteration of the event loop. */
const maxScheduled = 64;

/**
 * Priority and fairness for API requests (KEP-1040), with the logical cluster as part of the flow.
 *
 * ```
 *  classify   the first FlowSchema that matches user and request; its priority level
 *  acquire    a seat of the level, at once or after waiting in a fair queue (FairQueueSet), or 429
 *  release    at the end of the request, or while it waits for its client
 * ```
 *
 * Seats alone do not keep one flow from delaying others, because all requests share one event loop: hundreds that arrive
 * together would run one after the other before a request that arrives a moment later. So requests also wait in their queues
 * when the time slice of this iteration is used up, and are dispatched in fair order, in time slices. Priority levels take
 * turns.
 */
export class FlowController {
  readonly watches = new WatchCounts();
  readonly #options: FlowControllerOptions;
  readonly #modules: FlowControllerModules;
  readonly #metrics: FlowControlMetrics | undefined;
  readonly #estimator: WorkEstimator;
  readonly #dispatches: TimeSlicedQueue;
  readonly #seed: number;
  #levels: readonly Level[] = [];
  #limited: readonly Level[] = [];
  /** Levels without a configuration in which requests still wait. */
  #removed: Level[] = [];
  #matcher: FlowSchemaMatcher<FlowClass> | undefined;
  #fallback: FlowClass | undefined;
  #scheduled = 0;
  /** The level that dispatches next. */
  #turn = 0;
  #expiry: Timer | undefined;
  #seatsMovedAt = Number.NEGATIVE_INFINITY;
  #classes: readonly FlowClass[] = [];

  /** `configuration`: the first one; it must contain the priority level `catch-all`. */
  constructor(options: FlowControllerOptions, modules: FlowControllerModules, configuration: FlowControlConfiguration) {
    this.#options = options;
    this.#modules = modules;
    this.#seed = Math.floor(modules.random() * 2 ** 32);
    this.#dispatches = new TimeSlicedQueue(modules.scheduler);
    const { registry, objectCount } = modules;
    this.#metrics = registry === undefined ? undefined : new FlowControlMetrics(registry, () => this.#gauges());
    this.#estimator = new WorkEstimator({ objectCount, watchers: (info) => this.watches.of(info) });
    this.configure(configuration);
  }

  /** Requests that wait for seats. */
  get waiting(): number {
    let waiting = 0;
    for (const { set } of this.#limited) waiting += set?.waiting ?? 0;
    for (const { set } of this.#removed) waiting += set?.waiting ?? 0;
    return waiting;
  }

  /** Replaces the configuration. Requests keep their place, unless the queues of their level change in number or length. */
  configure({ schemas, levels }: FlowControlConfiguration): void {
    const { seats, cluster } = this.#options;
    const known = new Map(this.#levels.map((level) => [level.configuration.name, level]));
    const limits = seatLimits(seats, levels);
    this.#levels = levels.map((configuration, index) => {
      const nominal = limits[index]?.nominal ?? 0;
      const level = known.get(configuration.name);
      known.delete(configuration.name);
      return level === undefined ? this.#newLevel(configuration, nominal) : this.#update(level, configuration, nominal);
    });
    this.#removed = [...this.#removed, ...known.values()].filter(({ set }) => set !== undefined && set.waiting > 0);
    this.#limited = this.#levels.filter(({ set }) => set !== undefined);
    const byName = new Map(this.#levels.map((level) => [level.configuration.name, level]));
    const classes = schemas.flatMap((schema) => {
      const level = byName.get(schema.priorityLevel);
      // A FlowSchema whose level does not exist (condition Dangling) matches nothing.
      if (level === undefined) return [];
      const series = this.#metrics?.series(level.configuration.name, schema.name);
      return [[schema, new FlowClass(schema, level, series)] as const];
    });
    this.#classes = classes.map(([, flow]) => flow);
    this.#matcher = new FlowSchemaMatcher({ cluster }, classes);
    const fallback = byName.get('catch-all');
    if (fallback === undefined) throw new Error('the priority level catch-all is missing');
    this.#fallback =
      classes.find(([{ name }]) => name === 'catch-all')?.[1] ??
      new FlowClass({ name: 'catch-all', uid: '', distinguisher: 'ByUser' }, fallback, undefined);
    this.#scheduleDispatches();
  }

  classify(user: UserInfo, info: RequestInfo): FlowClass {
    return this.#matcher?.match(user, info) ?? (this.#fallback as FlowClass);
  }

  /** A ticket for a request of a level that is not exempt. It has no seat yet. */
  ticket(flow: FlowClass, user: UserInfo, info: RequestInfo): FlowTicket {
    const ticket = new FlowTicket(flow, user, info);
    ticket.seats = this.#estimator.seats(info, flow.level.maxSeatsOfRequest);
    ticket.extraWork = this.#estimator.extraWork(info);
    return ticket;
  }

  /**
   * Occupies the seats of a ticket: undefined if it has them at once, else a promise. Throws or rejects with a
   * TooManyRequestsError, or with the reason of the signal.
   */
  acquire(ticket: FlowTicket, request: { readonly signal: AbortSignal }): Promise<void> | undefined {
    const { set } = ticket.flow.level;
    if (set === undefined || ticket.isReleased || ticket.state === 'executing') return undefined;
    ticket.set = set;
    const hasTime = this.#hasTime();
    if (hasTime && set.startAtOnce(ticket)) {
      ticket.flow.series?.dispatched.add(1);
      return undefined;
    }
    ticket.hash(this.#seed);
    const admission = set.admit(ticket, hasTime);
    // Only where seats are scarce does it matter whose they are.
    this.#moveSeatsIfDue();
    if (admission === 'executing') {
      ticket.flow.series?.dispatched.add(1);
      return undefined;
    }
    if (admission !== 'queued') throw this.#rejected(ticket, admission);
    return this.#wait(ticket, request.signal, false);
  }

  /** The body of a request was read: it occupies the seats that processing it takes, before it is decoded. */
  widen(ticket: FlowTicket, bodyBytes: number): void {
    if (ticket.state !== 'idle') return;
    const seats = this.#estimator.seatsOfBody(bodyBytes, ticket.flow.level.maxSeatsOfRequest);
    ticket.seats = Math.max(ticket.seats, seats);
  }

  /** Occupies the seats of a paused ticket again. It is never rejected: it was admitted before. */
  async resume(ticket: FlowTicket, request: { readonly signal: AbortSignal }): Promise<void> {
    const { set } = ticket;
    if (set === undefined || ticket.isReleased || ticket.state !== 'idle') return;
    // Hundreds of sockets may drain in one iteration of the event loop; what exceeds its time slice waits for the next one.
    const { scheduler } = this.#modules;
    scheduler.startSlice();
    ticket.hash(this.#seed);
    const admission = set.admit(ticket, scheduler.hasTimeLeft);
    if (admission === 'queued') await this.#wait(ticket, request.signal, true).catch(() => undefined);
  }

  /** Frees the seats while the request waits for its client. */
  pause(ticket: FlowTicket): void {
    if (ticket.state !== 'executing') return;
    const { set } = ticket;
    set?.remove(ticket);
    if (set !== undefined && set.waiting > 0) this.#scheduleDispatches();
  }

  /** The request ends: frees its seats, or leaves its queue, and cannot be admitted again. Further calls have no effect. */
  release(ticket: FlowTicket): void {
    if (ticket.isReleased) return;
    ticket.isReleased = true;
    const { set } = ticket;
    if (set === undefined) return;
    set.remove(ticket);
    ticket.settle?.();
    if (set.waiting > 0) this.#scheduleDispatches();
  }

  /** False if the requests that started in this iteration of the event loop have used up its time slice. */
  #hasTime(): boolean {
    const { scheduler } = this.#modules;
    const end = scheduler.sharedSliceEndsAt;
    return end === undefined || scheduler.now() < end;
  }

  #wait(ticket: FlowTicket, signal: AbortSignal, isResumed: boolean): Promise<void> {
    this.#scheduleDispatches();
    if (this.#expiry === undefined) this.#expiry = this.#modules.clock.after(expiryMs, () => this.#expire());
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        ticket.set?.remove(ticket);
        if (!isResumed) ticket.flow.series?.rejected('cancelled').add(1);
        ticket.settle?.(signal.reason instanceof Error ? signal.reason : new Error('the request was cancelled'));
      };
      const queuedAt = this.#modules.clock.monotonic();
      ticket.settle = (error) => {
        ticket.settle = undefined;
        signal.removeEventListener('abort', cancel);
        const seconds = (this.#modules.clock.monotonic() - queuedAt) / 1000;
        const series = isResumed ? undefined : ticket.flow.series;
        if (error === undefined) {
          series?.dispatched.add(1);
          series?.waited.observe(seconds);
          resolve();
        } else {
          series?.waitedInVain.observe(seconds);
          reject(error);
        }
      };
      if (signal.aborted) cancel();
      else signal.addEventListener('abort', cancel);
    });
  }

  #scheduleDispatches(): void {
    let wanted = 0;
    for (const { set } of this.#limited) if (set?.canDispatch === true) wanted += set.waiting;
    for (const { set } of this.#removed) if (set?.canDispatch === true) wanted += set.waiting;
    wanted = Math.min(wanted, maxScheduled);
    for (; this.#scheduled < wanted; this.#scheduled++) this.#dispatches.add(this.#dispatchOne);
  }

  readonly #dispatchOne = (): void => {
    this.#scheduled--;
    const levels = this.#removed.length === 0 ? this.#limited : [...this.#limited, ...this.#removed];
    for (let i = 0; i < levels.length; i++) {
      const set = levels[(this.#turn + i) % levels.length]?.set;
      const ticket = set?.dispatch() as FlowTicket | undefined;
      if (ticket === undefined) continue;
      this.#turn = (this.#turn + i + 1) % levels.length;
      ticket.settle?.();
      break;
    }
    this.#removed = this.#removed.filter(({ set }) => set !== undefined && set.waiting > 0);
    this.#scheduleDispatches();
  };

  /** Rejects requests that have waited too long. */
  #expire(): void {
    this.#expiry = undefined;
    const before = this.#modules.clock.monotonic() - this.#options.waitLimitMs;
    let waiting = 0;
    for (const { set } of [...this.#limited, ...this.#removed]) {
      for (const request of set?.queuedBefore(before) ?? []) {
        const ticket = request as FlowTicket;
        set?.remove(ticket);
        ticket.settle?.(this.#rejected(ticket, 'time-out'));
      }
      waiting += set?.waiting ?? 0;
    }
    if (waiting > 0) this.#expiry = this.#modules.clock.after(expiryMs, () => this.#expire());
  }

  #rejected({ flow }: FlowTicket, reason: Exclude<Admission, 'executing' | 'queued'> | RejectionReason): Error {
    flow.series?.rejected(reason).add(1);
    const { retryAfter } = flow.level;
    retryAfter.rejected(this.#modules.clock.monotonic());
    return new TooManyRequestsError(reason, retryAfter.seconds);
  }

  /** Lends unused seats to levels with more demand, every ten seconds at most. */
  #moveSeatsIfDue(): void {
    const now = this.#modules.clock.monotonic();
    if (now - this.#seatsMovedAt < rebalanceMs) return;
    this.#seatsMovedAt = now;
    const limits = seatLimits(
      this.#options.seats,
      this.#limited.map(({ configuration }) => configuration),
    );
    const demands = this.#limited.map((level, index) => {
      const highWatermark = level.set?.takeHighWatermark() ?? 0;
      level.demand = Math.max(highWatermark, demandSmoothing * level.demand + (1 - demandSmoothing) * highWatermark);
      return { ...(limits[index] as (typeof limits)[number]), target: level.demand, highWatermark };
    });
    const total = limits.reduce((sum, { nominal }) => sum + nominal, 0);
    for (const [index, seats] of allocateSeats(total, demands).entries()) {
      const { set } = this.#limited[index] as Level;
      if (set !== undefined) set.seatLimit = seats;
    }
    this.#scheduleDispatches();
  }

  #newLevel(configuration: PriorityLevel, nominal: number): Level {
    return {
      configuration,
      set: configuration.exempt ? undefined : this.#newSet(configuration.queuing, nominal),
      nominalSeats: nominal,
      maxSeatsOfRequest: Math.max(1, Math.ceil(nominal * maxShareOfRequest)),
      demand: 0,
      retryAfter: new RetryAfter(),
    };
  }

  #newSet(queuing: Queuing | undefined, seats: number): FairQueueSet {
    const now = (): number => this.#modules.clock.monotonic();
    return new FairQueueSet({ seats: Math.max(1, seats), queuing }, { now });
  }

  #update(level: Level, configuration: PriorityLevel, nominal: number): Level {
    const { queuing, exempt } = level.configuration;
    if (exempt !== configuration.exempt || !sameQueues(queuing, configuration.queuing)) {
      // Waiting requests stay in the queues that they are in until they are dispatched.
      if (level.set !== undefined && level.set.waiting > 0) this.#removed.push({ ...level });
      return this.#newLevel(configuration, nominal);
    }
    if (nominal !== level.nominalSeats && level.set !== undefined) level.set.seatLimit = Math.max(1, nominal);
    level.configuration = configuration;
    level.nominalSeats = nominal;
    level.maxSeatsOfRequest = Math.max(1, Math.ceil(nominal * maxShareOfRequest));
    return level;
  }

  #gauges(): LevelGauges[] {
    return this.#levels.map((level) => {
      const { configuration, set, nominalSeats } = level;
      const exempt = this.#classes.reduce((sum, flow) => (flow.level === level ? sum + flow.executing : sum), 0);
      const [executing, seats] = [set?.executing ?? exempt, set?.seatLimit ?? nominalSeats];
      return { name: configuration.name, set, executing, nominalSeats, seats };
    });
  }
}

function sameQueues(a: Queuing | undefined, b: Queuing | undefined): boolean {
  return a?.queues === b?.queues && a?.handSize === b?.handSize && a?.queueLengthLimit === b?.queueLengthLimit;
}
