import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, type Timer, systemClock } from '../clock/clock.ts';
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
  readonly clock?: Clock | undefined;
  readonly histogram?: DelayHistogram | undefined;
}

/** Milliseconds. Sampling itself wakes up late by up to this, which is not delay. */
const resolution = 10;
const nanosPerMilli = 1e6;

/** Exports the p99 and maximum delay of the event loop as a gauge, and warns when something blocked it for too long. */
export class EventLoopMonitor implements Runnable {
  readonly name = 'event-loop-monitor';
  readonly #limit: number;
  readonly #interval: number;
  readonly #modules: EventLoopMonitorModules;
  readonly #histogram: DelayHistogram;
  readonly #clock: Clock;
  readonly #record: (p99: number, max: number) => void;
  #timer: Timer | undefined;

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
  }

  start(): Promise<void> {
    this.#histogram.enable();
    this.#schedule();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#timer?.cancel();
    this.#histogram.disable();
    return Promise.resolve();
  }

  #schedule(): void {
    this.#timer = this.#clock.after(this.#interval, () => {
      this.#evaluate();
      this.#schedule();
    });
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
}
