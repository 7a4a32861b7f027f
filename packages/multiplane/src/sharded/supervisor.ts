import { Backoff, untilAborted, type Clock, type Logger } from '@multiplane/component-base';

/** A process that the supervisor keeps running. */
export interface SupervisedProcess {
  readonly name: string;
  /** Processes that must be ready before this one starts, and that stop after it. */
  readonly needs: readonly string[];
}

export interface LaunchedProcess {
  readonly pid: number | undefined;
  /** How it ended, as `exit code 1` or `SIGKILL`; never rejects. */
  readonly ended: Promise<string>;
  readonly kill: (signal: 'SIGTERM' | 'SIGKILL') => void;
}

export interface SupervisorOptions<P extends SupervisedProcess> {
  /** Each after those that it needs. */
  readonly processes: readonly P[];
  /** Milliseconds in which all must be ready for the first time. */
  readonly startTimeout: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly stopTimeout: number;
}

export interface SupervisorModules<P extends SupervisedProcess> {
  readonly launch: (process: P) => LaunchedProcess;
  /** `ready`, or what is missing; never rejects. */
  readonly probe: (process: P) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

const probeInterval = 250;
/** A process that ran for so long is no longer one that fails at its start. */
const provenAfter = 60_000;

/**
 * Starts processes in the order of their needs, restarts those that end, and stops them in the opposite order.
 *
 *   start   a process starts when those that it needs are ready. One that ends before it was ready, or all of them not being
 *           ready in time, fails the start: the others are stopped, and `run` throws
 *   run     a process that ends is launched again after a pause, which doubles up to 30 s and is forgotten once the process has
 *           run for a minute. Those that need it go on: each of them tolerates that another one is gone
 *   stop    after the signal nothing is launched any more. A process gets SIGTERM when all that need it have ended, and
 *           SIGKILL when it has not ended in time
 */
export class Supervisor<P extends SupervisedProcess> {
  readonly #options: SupervisorOptions<P>;
  readonly #modules: SupervisorModules<P>;
  readonly #running = new Map<string, LaunchedProcess>();
  readonly #stopping = new AbortController();

  constructor(options: SupervisorOptions<P>, modules: SupervisorModules<P>) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Runs all processes until the signal aborts, and returns when they have ended. Throws when the start fails. */
  async run(signal: AbortSignal, onReady?: () => void): Promise<void> {
    const failure = Promise.withResolvers<never>();
    failure.promise.catch(() => undefined);
    const kept: Promise<void>[] = [];
    try {
      await untilAborted(Promise.race([this.#start(kept, failure.reject), failure.promise]), signal);
      if (!signal.aborted) {
        onReady?.();
        await untilAborted(failure.promise, signal);
      }
    } finally {
      this.#stopping.abort();
      await this.#stop();
      await Promise.all(kept);
    }
  }

  async #start(kept: Promise<void>[], fail: (error: Error) => void): Promise<void> {
    const { clock } = this.#modules;
    const { processes, startTimeout } = this.#options;
    const waitingFor = new Set(processes.map(({ name }) => name));
    const timer = clock.after(startTimeout, () =>
      fail(new Error(`not ready after ${Math.round(startTimeout / 1000)} s: ${[...waitingFor].join(', ')}`)),
    );
    const ready = new Map<string, Promise<void>>();
    try {
      for (const each of processes) {
        const isReady = Promise.withResolvers<void>();
        ready.set(
          each.name,
          isReady.promise.then(() => void waitingFor.delete(each.name)),
        );
        const needed = each.needs.map((name) => ready.get(name) as Promise<void>);
        kept.push(
          // One that it needs may never become ready.
          untilAborted(Promise.all(needed), this.#stopping.signal)
            .then(() => this.#keep(each, isReady.resolve))
            .catch((error: unknown) => fail(error as Error)),
        );
      }
      await untilAborted(Promise.all(ready.values()), this.#stopping.signal);
    } finally {
      timer.cancel();
    }
  }

  /** Runs a process, and again whenever it ends. Throws when the first one ends before it was ready. */
  async #keep(each: P, onFirstReady: () => void): Promise<void> {
    const { launch, clock, logger, random } = this.#modules;
    const { signal } = this.#stopping;
    const backoff = new Backoff({ initial: 250, max: 30_000 }, { random });
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const startedAt = clock.monotonic();
      const launched = launch(each);
      this.#running.set(each.name, launched);
      const ending = new AbortController();
      const ended = launched.ended.then((how) => {
        this.#running.delete(each.name);
        ending.abort();
        return how;
      });
      const isReady = await this.#untilReady(each, AbortSignal.any([ending.signal, signal]));
      if (isReady) {
        const ms = Math.round(clock.monotonic() - startedAt);
        logger.info('process is ready', { name: each.name, pid: launched.pid, ms });
        if (isFirst) onFirstReady();
      }
      const how = await ended;
      if (signal.aborted) return;
      if (isFirst && !isReady) throw new Error(`${each.name} ended before it was ready: ${how}`);
      if (clock.monotonic() - startedAt >= provenAfter) backoff.reset();
      const pause = backoff.next();
      logger.warn('process has ended and is started again', { name: each.name, how, afterMs: Math.round(pause) });
      await clock.sleep(pause, signal).catch(() => undefined);
    }
  }

  async #untilReady(each: P, signal: AbortSignal): Promise<boolean> {
    const { probe, clock } = this.#modules;
    while (!signal.aborted) {
      if ((await probe(each)) === 'ready') return !signal.aborted;
      await clock.sleep(probeInterval, signal).catch(() => undefined);
    }
    return false;
  }

  async #stop(): Promise<void> {
    const { processes } = this.#options;
    const gone = new Map<string, Promise<void>>();
    for (const { name } of processes.toReversed()) {
      const dependants = processes
        .filter(({ needs }) => needs.includes(name))
        .map((other) => gone.get(other.name) as Promise<void>);
      gone.set(
        name,
        Promise.all(dependants).then(() => this.#end(name)),
      );
    }
    await Promise.all(gone.values());
  }

  async #end(name: string): Promise<void> {
    const { clock, logger } = this.#modules;
    const launched = this.#running.get(name);
    if (launched === undefined) return;
    launched.kill('SIGTERM');
    const timer = clock.after(this.#options.stopTimeout, () => {
      logger.warn('process did not stop in time and is killed', { name, ms: this.#options.stopTimeout });
      launched.kill('SIGKILL');
    });
    await launched.ended;
    timer.cancel();
  }
}
