import { type Clock, systemClock } from '../clock/clock.ts';
import type { HealthChecks } from '../health/health-checks.ts';
import type { Logger } from '../logging/logger.ts';
import type { Runnable } from './runnable.ts';
import { untilAborted } from './until-aborted.ts';

export interface LifecycleOptions<G extends string> {
  /** What needs nothing comes first. Groups start in this order and stop in the opposite one. */
  readonly groups: readonly G[];
  /** Milliseconds between "not ready" and the first stop, for load balancers to notice. */
  readonly shutdownDelay?: number | undefined;
  /** Milliseconds one group may take to stop before the next one is stopped anyway. */
  readonly stopTimeout?: number | undefined;
}

export interface LifecycleModules {
  readonly logger: Logger;
  readonly health: HealthChecks;
  readonly clock?: Clock | undefined;
}

/** The check that says whether all of them have started. */
const startup = 'startup';
/** Milliseconds between two lines about what a start waits for. */
const tellEvery = 10_000;

/** Thrown by {@link Lifecycle.run} when something ended that should have gone on. */
export class UnexpectedEndError extends Error {
  override readonly name = 'UnexpectedEndError';
}

/**
 * Starts and stops everything a process consists of.
 *
 * ```
 *  start:  group 1 ──► group 2 ──► … ──► ready          within a group all at once
 *  end:    signal, or one of them ended by itself
 *          readyz fails ── shutdownDelay ──► … ──► stop group 2 ──► stop group 1
 * ```
 *
 * Nothing waits in silence: a start that takes long says every ten seconds what is not there yet.
 *
 * Fails loudly: a loop that ends by itself makes readiness fail first, everything stops in order, and `run` throws.
 */
export class Lifecycle<G extends string> {
  readonly #options: LifecycleOptions<G>;
  readonly #logger: Logger;
  readonly #health: HealthChecks;
  readonly #clock: Clock;
  readonly #groups = new Map<G, Runnable[]>();
  /** What has begun to start and is not there yet. */
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

  /** Adds to a group, before the start. */
  add(group: G, runnable: Runnable): void {
    if (this.#state !== 'new') throw new Error(`${runnable.name} was added after the start`);
    const runnables = this.#groups.get(group);
    if (runnables === undefined) throw new Error(`there is no group ${group}`);
    runnables.push(runnable);
  }

  /**
   * Runs everything until `signal` aborts; returns when all has stopped. Throws when a start failed, something ended
   * by itself, or something could not be stopped; everything that had started is stopped then, too.
   */
  async run(signal: AbortSignal, onReady?: () => void): Promise<void> {
    if (this.#state !== 'new') throw new Error('a lifecycle runs once');
    this.#state = 'starting';
    const failure = Promise.withResolvers<never>();
    failure.promise.catch(() => {});
    const started: Runnable[][] = [];
    const failures: unknown[] = [];
    const telling = this.#tellWaiting();
    try {
      for (const group of this.#options.groups) {
        const runnables = this.#groups.get(group) ?? [];
        started.unshift(runnables);
        const starting = Promise.all(runnables.map((runnable) => this.#start(group, runnable, failure.reject)));
        await this.#begun(Promise.race([starting, failure.promise]), signal);
        if (signal.aborted) break;
      }
      if (!signal.aborted) {
        this.#state = 'running';
        telling.cancel();
        onReady?.();
        await untilAborted(failure.promise, signal);
      }
    } catch (error) {
      failures.push(error);
    }
    telling.cancel();
    this.#state = 'stopping';
    this.#stopping = new Error('process is shutting down');
    // A process that failed serves nobody any good by waiting.
    if (failures.length === 0) await this.#clock.sleep(this.#options.shutdownDelay ?? 0);
    for (const group of started) failures.push(...(await this.#stop(group)));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'several things failed; the first one is the reason');
  }

  /**
   * Waits for the starts of a group even when the signal aborts, since a half-started thing cannot be stopped cleanly; but
   * then no longer than a stop may take.
   */
  async #begun(starting: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await untilAborted(starting, signal);
    if (!signal.aborted) return;
    const late = Promise.withResolvers<void>();
    const timer = this.#clock.after(this.#options.stopTimeout ?? 30_000, () => {
      this.#logger.warn('stopping before all has started', { waitingFor: this.#waitingFor });
      late.resolve();
    });
    try {
      await Promise.race([starting, late.promise]);
    } finally {
      timer.cancel();
    }
  }

  get #waitingFor(): string[] {
    return Array.from(this.#starting, ({ name }) => name);
  }

  #tellWaiting(): { cancel(): void } {
    const began = this.#clock.monotonic();
    let isOver = false;
    const tell = async (): Promise<void> => {
      const results = await this.#health.run(this.#health.names('readyz').filter((name) => name !== startup));
      if (isOver) return;
      const missing = results.flatMap(({ name, error }) => (error === undefined ? [] : [`${name}: ${error.message}`]));
      const seconds = Math.round((this.#clock.monotonic() - began) / 1000);
      this.#logger.warn('still starting', { seconds, waitingFor: this.#waitingFor, missing });
      timer = this.#clock.after(tellEvery, () => void tell());
    };
    let timer = this.#clock.after(tellEvery, () => void tell());
    return {
      cancel: () => {
        isOver = true;
        timer.cancel();
      },
    };
  }

  async #start(group: string, runnable: Runnable, fail: (error: Error) => void): Promise<void> {
    const began = this.#clock.monotonic();
    this.#starting.add(runnable);
    try {
      await runnable.start();
    } catch (cause) {
      throw new Error(`${runnable.name} did not start`, { cause });
    } finally {
      this.#starting.delete(runnable);
    }
    this.#logger.debug('started', { name: runnable.name, group, ms: Math.round(this.#clock.monotonic() - began) });
    const end = (cause?: unknown): void => {
      if (this.#state === 'stopping') return;
      fail(new UnexpectedEndError(`${runnable.name} ended unexpectedly`, { cause }));
    };
    runnable.ended?.then(() => end(), end);
  }

  /** Stops a group at once; returns what went wrong. */
  async #stop(group: readonly Runnable[]): Promise<unknown[]> {
    const timeout = this.#options.stopTimeout ?? 30_000;
    const results = await Promise.allSettled(
      group.map(async (runnable) => {
        const late = Promise.withResolvers<never>();
        const timer = this.#clock.after(timeout, () => {
          this.#logger.warn('did not stop in time', { name: runnable.name, ms: timeout });
          late.reject(new Error(`not within ${timeout} ms`));
        });
        try {
          await Promise.race([runnable.stop(), late.promise]);
        } catch (cause) {
          throw new Error(`${runnable.name} did not stop`, { cause });
        } finally {
          timer.cancel();
        }
      }),
    );
    return results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
  }

  #checkStarted(): void {
    if (this.#state === 'new' || this.#state === 'starting') throw new Error('not everything has started');
  }

  #checkNotStopping(): void {
    if (this.#stopping !== undefined) throw this.#stopping;
  }
}
