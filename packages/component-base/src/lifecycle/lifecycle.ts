import { type Clock, systemClock } from '../clock/clock.ts';
import type { HealthChecks } from '../health/health-checks.ts';
import { StartupUnfinishedError } from '../health/startup-unfinished-error.ts';
import type { Logger } from '../logging/logger.ts';
import type { Runnable } from './runnable.ts';
import { untilAborted } from './until-aborted.ts';

export interface LifecycleOptions<G extends string> {
  /** Dependencies first: groups start in this order and stop in the opposite one. */
  readonly groups: readonly G[];
  /** Milliseconds between failing readiness and the first stop, for load balancers to notice. */
  readonly shutdownDelay?: number | undefined;
  /** Milliseconds that a group may take to stop; 30 s by default. Then the next one is stopped anyway. */
  readonly stopTimeout?: number | undefined;
}

export interface LifecycleModules {
  readonly logger: Logger;
  readonly health: HealthChecks;
  readonly clock?: Clock | undefined;
}

/** The readiness check that fails until all groups have started. */
const startup = 'startup';
const defaultStopTimeout = 30_000;
/** Milliseconds between two log lines of a slow start. */
const reportInterval = 10_000;

/** Thrown by {@link Lifecycle.run} when a runnable ended by itself. */
export class UnexpectedEndError extends Error {
  override readonly name = 'UnexpectedEndError';
}

/**
 * Starts and stops the runnables of a process.
 *
 * ```
 *  start:  group 1 ──► group 2 ──► … ──► ready          runnables of a group start concurrently
 *  end:    signal, or a runnable ended by itself
 *          readyz fails ── shutdownDelay ──► … ──► stop group 2 ──► stop group 1
 * ```
 *
 * A slow start logs every ten seconds which runnables and health checks it waits for. When a runnable ends by itself,
 * readiness fails first, everything stops in order, and `run` throws.
 */
export class Lifecycle<G extends string> {
  readonly #options: LifecycleOptions<G>;
  readonly #logger: Logger;
  readonly #health: HealthChecks;
  readonly #clock: Clock;
  readonly #groups = new Map<G, Runnable[]>();
  /** Runnables whose `start` has not settled. */
  readonly #starting = new Set<Runnable>();
  #stopping: Error | undefined;
  #state: 'new' | 'starting' | 'running' | 'stopping' = 'new';

  constructor(options: LifecycleOptions<G>, { logger, health, clock = systemClock }: LifecycleModules) {
    this.#options = options;
    this.#logger = logger;
    this.#health = health;
    this.#clock = clock;
    for (const group of options.groups) this.#groups.set(group, []);
    health.add(startup, () => this.#checkStarted(), { endpoints: ['readyz'] });
    health.add('shutdown', () => this.#checkNotStopping(), { endpoints: ['readyz'] });
  }

  /** Adds a runnable to a group. Throws after the start. */
  add(group: G, runnable: Runnable): void {
    if (this.#state !== 'new') throw new Error(`failed to add ${runnable.name}: already started`);
    const runnables = this.#groups.get(group);
    if (runnables === undefined) throw new Error(`unknown group ${group}`);
    runnables.push(runnable);
  }

  /**
   * Runs all groups until `signal` aborts; returns once all have stopped. Throws when a runnable fails to start, ends by
   * itself or fails to stop; whatever had started is stopped in any case.
   */
  async run(signal: AbortSignal, onReady?: () => void): Promise<void> {
    if (this.#state !== 'new') throw new Error('already run');
    this.#state = 'starting';
    const failure = Promise.withResolvers<never>();
    failure.promise.catch(() => {});
    const started: Runnable[][] = [];
    const failures: unknown[] = [];
    const reporting = this.#reportSlowStart();
    try {
      for (const group of this.#options.groups) {
        const runnables = this.#groups.get(group) ?? [];
        started.unshift(runnables);
        const starting = Promise.all(runnables.map((runnable) => this.#start(group, runnable, failure.reject)));
        await this.#waitForStart(Promise.race([starting, failure.promise]), signal);
        if (signal.aborted) break;
      }
      if (!signal.aborted) {
        this.#state = 'running';
        reporting.cancel();
        onReady?.();
        await untilAborted(failure.promise, signal);
      }
    } catch (error) {
      failures.push(error);
    }
    reporting.cancel();
    this.#state = 'stopping';
    this.#stopping = new Error('process is shutting down');
    // A failed process has no reason to wait for load balancers.
    if (failures.length === 0) await this.#clock.sleep(this.#options.shutdownDelay ?? 0);
    for (const group of started) failures.push(...(await this.#stop(group)));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'multiple failures, the first one is the cause');
  }

  /**
   * Waits until a group has started, even when the signal aborts, since a runnable cannot be stopped cleanly in the middle
   * of its start; after the abort for the stop timeout at most.
   */
  async #waitForStart(starting: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await untilAborted(starting, signal);
    if (!signal.aborted) return;
    const timeout = Promise.withResolvers<void>();
    const timer = this.#clock.after(this.#options.stopTimeout ?? defaultStopTimeout, () => {
      this.#logger.warn('stopping before all runnables have started', { waitingFor: this.#waitingFor });
      timeout.resolve();
    });
    try {
      await Promise.race([starting, timeout.promise]);
    } finally {
      timer.cancel();
    }
  }

  get #waitingFor(): string[] {
    return Array.from(this.#starting, ({ name }) => name);
  }

  #reportSlowStart(): { cancel(): void } {
    const startedAt = this.#clock.monotonic();
    let isCancelled = false;
    const report = async (): Promise<void> => {
      const results = await this.#health.run(this.#health.names('readyz').filter((name) => name !== startup));
      if (isCancelled) return;
      const missing = results.flatMap(({ name, error }) => (error === undefined ? [] : [`${name}: ${error.message}`]));
      const seconds = Math.round((this.#clock.monotonic() - startedAt) / 1000);
      this.#logger.warn('still starting', { seconds, waitingFor: this.#waitingFor, missing });
      timer = this.#clock.after(reportInterval, () => void report());
    };
    let timer = this.#clock.after(reportInterval, () => void report());
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  async #start(group: string, runnable: Runnable, fail: (error: Error) => void): Promise<void> {
    const startedAt = this.#clock.monotonic();
    this.#starting.add(runnable);
    try {
      await runnable.start();
    } catch (cause) {
      throw new Error(`failed to start ${runnable.name}`, { cause });
    } finally {
      this.#starting.delete(runnable);
    }
    this.#logger.debug('started', { name: runnable.name, group, ms: Math.round(this.#clock.monotonic() - startedAt) });
    const end = (cause?: unknown): void => {
      if (this.#state === 'stopping') return;
      fail(new UnexpectedEndError(`${runnable.name} ended unexpectedly`, { cause }));
    };
    runnable.ended?.then(() => end(), end);
  }

  /** Stops the runnables of a group concurrently; returns the failures. */
  async #stop(group: readonly Runnable[]): Promise<unknown[]> {
    const ms = this.#options.stopTimeout ?? defaultStopTimeout;
    const results = await Promise.allSettled(
      group.map(async (runnable) => {
        const timeout = Promise.withResolvers<never>();
        const timer = this.#clock.after(ms, () => {
          this.#logger.warn('did not stop in time', { name: runnable.name, ms });
          timeout.reject(new Error(`timed out after ${ms} ms`));
        });
        try {
          await Promise.race([runnable.stop(), timeout.promise]);
        } catch (cause) {
          throw new Error(`failed to stop ${runnable.name}`, { cause });
        } finally {
          timer.cancel();
        }
      }),
    );
    return results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
  }

  #checkStarted(): void {
    if (this.#state === 'new' || this.#state === 'starting') throw new StartupUnfinishedError('startup not finished');
  }

  #checkNotStopping(): void {
    if (this.#stopping !== undefined) throw this.#stopping;
  }
}
