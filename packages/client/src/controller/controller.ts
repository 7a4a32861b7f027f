import { isStatusError } from '@multiplane/apimachinery';
import { type Clock, type Logger, type Runnable, timeSlices } from '@multiplane/component-base';
import { WorkQueue } from '../work-queue.ts';
import type { WorkQueueMetrics } from '../work-queue-metrics.ts';

/** Modules of every controller. */
interface ControllerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: the work queue has no metrics. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
}

interface ControllerOptions<K extends string> {
  readonly name: string;
  /** Keys reconciled concurrently. */
  readonly workers?: number | undefined;
  /**
   * Reconciles one key: reads listers, writes through the client. A thrown error requeues the key with rate limiting; a
   * returned number requeues it after that many milliseconds and does not count as a failure.
   */
  readonly reconcile: (key: K) => Promise<number | void>;
  /** Subscribes to events other than those of informers; called at the start. What it returns is called at the stop. */
  readonly subscribe?: (() => (() => void) | undefined) | undefined;
}

/**
 * A work queue with workers. One controller serves all logical clusters, so a tenant costs no timer and no
 * loop. Informer handlers only add keys; `reconcile` decides from the listed state, never from the event.
 */
export class Controller<K extends string = string> implements Runnable {
  readonly name: string;
  readonly queue: WorkQueue<K>;
  readonly #workers: number;
  readonly #reconcile: (key: K) => Promise<number | void>;
  readonly #logger: Logger;
  readonly #ended = Promise.withResolvers<void>();
  readonly ended = this.#ended.promise;
  #running: Promise<unknown> = Promise.resolve();
  #removeMetrics: (() => void) | undefined;
  readonly #subscribe: (() => (() => void) | undefined) | undefined;
  #unsubscribe: (() => void) | undefined;
  readonly #queueMetrics: WorkQueueMetrics | undefined;
  readonly #slices = timeSlices();

  constructor(options: ControllerOptions<K>, modules: ControllerModules) {
    const { clock } = modules;
    this.name = options.name;
    this.#workers = options.workers ?? 4;
    this.#reconcile = options.reconcile;
    this.#subscribe = options.subscribe;
    this.#logger = modules.logger.child({ controller: options.name });
    this.queue = new WorkQueue<K>({}, { clock });
    this.#queueMetrics = modules.queueMetrics;
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    this.#removeMetrics = this.#queueMetrics?.add(this.name, this.queue);
    this.#unsubscribe = this.#subscribe?.();
    const workers = Array.from({ length: this.#workers }, () => this.#work());
    this.#running = Promise.all(workers).then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
  }

  /** Resolves when the keys in flight are reconciled. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.queue.stop();
    await this.#running;
    this.#removeMetrics?.();
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.queue.get();
      if (key === undefined) return;
      try {
        const requeueAfter = await this.#reconcile(key);
        this.queue.forget(key);
        if (typeof requeueAfter === 'number') this.queue.addAfter(key, requeueAfter);
      } catch (error) {
        this.#logFailure(key, error);
        this.queue.addRateLimited(key);
      } finally {
        this.queue.done(key);
      }
      await this.#yieldIfSliceExceeded();
    }
  }

  /** Keys that are up to date need no I/O: without yielding, thousands of them in a row would block the event loop. */
  async #yieldIfSliceExceeded(): Promise<void> {
    if (this.#slices.isExceeded) await this.#slices.yield();
  }

  /** Conflict and NotFound come from concurrent writers and are expected; repeated failures raise the log level. */
  #logFailure(key: K, error: unknown): void {
    const failures = this.queue.failuresOf(key);
    const expected = isStatusError(error, 'Conflict') || isStatusError(error, 'NotFound');
    const level = expected || failures < 3 ? 'debug' : failures < 8 ? 'warn' : 'error';
    this.#logger[level]('failed to reconcile', { failures, error });
  }
}
