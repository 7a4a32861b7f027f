import { isStatusError } from '@multiplane/apimachinery';
import { WorkQueue, type InformerFactory, type ObjectClient } from '@multiplane/client';
import { type Clock, type Logger, type Runnable, slicesOfTurns } from '@multiplane/component-base';

/** What every controller is made with. */
export interface ControllerModules {
  readonly informers: InformerFactory;
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ControllerOptions<K extends string> {
  readonly name: string;
  /** Keys worked on at the same time. */
  readonly workers?: number | undefined;
  /**
   * Brings one key from what is to what should be. Reads listers, writes through the client, keeps nothing. A thrown
   * error brings the key back later; a returned number does so after as many milliseconds without counting as a failure.
   */
  readonly reconcile: (key: K) => Promise<number | void>;
}

/**
 * A global, keyed controller: one per shard for all logical clusters, so that a tenant costs no timer and no loop.
 * Handlers of informers only add keys; {@link reconcile} decides from the state it finds, never from the event.
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
  readonly #slices = slicesOfTurns();

  constructor(options: ControllerOptions<K>, modules: Pick<ControllerModules, 'clock' | 'logger'>) {
    const { clock } = modules;
    this.name = options.name;
    this.#workers = options.workers ?? 4;
    this.#reconcile = options.reconcile;
    this.#logger = modules.logger.child({ controller: options.name });
    this.queue = new WorkQueue<K>({}, { clock });
    this.ended.catch(() => {});
  }

  async start(): Promise<void> {
    const workers = Array.from({ length: this.#workers }, () => this.#work());
    this.#running = Promise.all(workers).then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
  }

  /** Resolves when the keys under way are finished. */
  async stop(): Promise<void> {
    this.queue.stop();
    await this.#running;
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.queue.get();
      if (key === undefined) return;
      try {
        const again = await this.#reconcile(key);
        this.queue.forget(key);
        if (typeof again === 'number') this.queue.addAfter(key, again);
      } catch (error) {
        this.#report(key, error);
        this.queue.addRateLimited(key);
      } finally {
        this.queue.done(key);
      }
      await this.#breathe();
    }
  }

  /** A key that is as it should be needs no I/O; thousands of them in a row would hold the event loop (cost rule 4). */
  async #breathe(): Promise<void> {
    if (this.#slices.over) await this.#slices.next();
  }

  /** Somebody else wrote first: ordinary, the next try reads again. What fails on and on becomes louder. */
  #report(key: K, error: unknown): void {
    const failures = this.queue.failuresOf(key);
    const expected = isStatusError(error, 'Conflict') || isStatusError(error, 'NotFound');
    const level = expected || failures < 3 ? 'debug' : failures < 8 ? 'warn' : 'error';
    this.#logger[level]('reconciling failed', { failures, error });
  }
}
