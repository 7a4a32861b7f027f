import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, type Timer, systemClock } from '../clock/clock.ts';
import type { HealthChecks } from '../health/health-checks.ts';
import type { Logger } from '../logging/logger.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import type { Runnable } from './runnable.ts';

export interface EventLoopMonitorOptions {
  /** Milliseconds between two evaluations; 10 s by default. */
  readonly interval?: number | undefined;
  /** Milliseconds of delay that are logged as a warning; 50 by default, the longest that a server may block the loop. */
  readonly limit?: number | undefined;
}

/** Event loop delay in nanoseconds, as `monitorEventLoopDelay` of `node:perf_hooks` measures it. */
export type DelayHistogram = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  'max' | 'percentile' | 'enable' | 'disable' | 'reset'
>;

export interface EventLoopMonitorModules {
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Gets the check `event-loop` of `/readyz`. */
  readonly health: HealthChecks;
  readonly clock?: Clock | undefined;
  readonly histogram?: DelayHistogram | undefined;
}

/** Milliseconds. Sampling itself wakes up late by up to this, which is not delay. */
const resolution = 10;
const nanosPerMilli = 1e6;

/** Milliseconds between two looks at the clock, and the lateness from which one counts as a stall. */
const lookMs = 1000;
const stallMs = 1000;
/** The process is not ready while it was stalled for so long within the window before. */
const stalledLimitMs = 10_000;
const windowMs = 20_000;

interface Stall {
  /** Monotonic time of its end. */
  readonly end: number;
  readonly ms: number;
}

/**
 * Exports the p99 and maximum delay of the event loop as a gauge, and warns when something blocked it for too long.
 *
 * A process that stalls for seconds again and again still answers in between, and would get its full share of the requests.
 * Its readiness fails first: while stalls took half of the last twenty seconds, also after a single long one (SIGSTOP, a
 * paused machine). `/livez` succeeds as soon as the event loop runs, because a restart does not make a busy process faster;
 * probes that time out end a process that never runs again.
 */
export class EventLoopMonitor implements Runnable {
  readonly name = 'event-loop-monitor';
  readonly #limit: number;
  readonly #interval: number;
  readonly #modules: EventLoopMonitorModules;
  readonly #histogram: DelayHistogram;
  readonly #clock: Clock;
  readonly #record: (p99: number, max: number) => void;
  readonly #timers = new Map<() => void, Timer>();
  readonly #stalls: Stall[] = [];
  /** Monotonic time at which the next look is due; undefined before the start. */
  #lookAt: number | undefined;

  constructor(options: EventLoopMonitorOptions, modules: EventLoopMonitorModules) {
    this.#limit = options.limit ?? 50;
    this.#interval = options.interval ?? 10_000;
    this.#modules = modules;
    this.#clock = modules.clock ?? systemClock;
    this.#histogram = modules.histogram ?? monitorEventLoopDelay({ resolution });
    const delay = modules.metrics.gauge({
      name: 'multiplane_event_loop_delay_seconds',
      help: 'How late the event loop was during the last interval.',
      labels: { quantile: ['0.99', '1'] },
    });
    this.#record = (p99, max) => {
      delay.set(p99 / 1000, { quantile: '0.99' });
      delay.set(max / 1000, { quantile: '1' });
    };
    modules.health.add('event-loop', () => this.#check(), { endpoints: ['readyz'] });
  }

  start(): Promise<void> {
    this.#histogram.enable();
    this.#lookAt = this.#clock.monotonic() + lookMs;
    this.#repeat(this.#interval, () => this.#evaluate());
    this.#repeat(lookMs, () => this.#look());
    return Promise.resolve();
  }

  stop(): Promise<void> {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#histogram.disable();
    return Promise.resolve();
  }

  #repeat(ms: number, run: () => void): void {
    this.#timers.set(
      run,
      this.#clock.after(ms, () => {
        run();
        this.#repeat(ms, run);
      }),
    );
  }

  #evaluate(): void {
    const [p99, max] = [this.#histogram.percentile(99), this.#histogram.max].map((nanos) =>
      Math.max(0, nanos / nanosPerMilli - resolution),
    ) as [number, number];
    this.#histogram.reset();
    this.#record(p99, max);
    if (max > this.#limit) {
      this.#modules.logger.warn('event loop blocked', { maxMs: Math.round(max), p99Ms: Math.round(p99) });
    }
  }

  /** Records a stall that has just ended. */
  #look(): void {
    if (this.#lookAt === undefined) return;
    const now = this.#clock.monotonic();
    const late = now - this.#lookAt;
    if (late >= stallMs) this.#stalls.push({ end: now, ms: late });
    while (this.#stalls[0] !== undefined && this.#stalls[0].end < now - windowMs) this.#stalls.shift();
    this.#lookAt = now + lookMs;
  }

  #check(): void {
    const now = this.#clock.monotonic();
    // A probe may be served before the timer that is late, too.
    if (this.#lookAt !== undefined && now - this.#lookAt >= stallMs) this.#look();
    const stalledMs = this.#stalls.reduce((sum, { end, ms }) => (end < now - windowMs ? sum : sum + ms), 0);
    if (stalledMs >= stalledLimitMs)
      throw new Error(`the event loop was stalled for ${(stalledMs / 1000).toFixed(1)} s until a moment ago`);
  }
}
