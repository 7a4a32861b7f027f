import { LeadershipLostError, type InformerFactory, type InformerSource, type LeaderElector } from '@multiplane/client';
import { yieldToEventLoop, timeSlices, untilAborted, type Logger, type Runnable } from '@multiplane/component-base';
import { LeaderTermInformerFactory, LeaderTermInformerSource } from './leader-term-informers.ts';

interface Modules {
  readonly informers: InformerFactory;
  readonly globalInformers: InformerSource;
  readonly logger: Logger;
  /** Without it, this process is the only replica and leads from the start. */
  readonly elector?: LeaderElector | undefined;
  /** Creates the controllers of one term, over informers whose handlers end with it. */
  readonly make: (informers: InformerFactory, globalInformers: InformerSource) => readonly Runnable[];
}

/**
 * Runs the controllers in one replica of the shard.
 *
 * ```
 *  campaign ──► term: create, start ──► leadership lost ──► stop, remove informer handlers ──► campaign
 *                                   └─► stop() ───────────► stop, release the lease
 * ```
 *
 * Each term creates new controllers, because the state of old ones may be stale. The elector waits for the end of a term
 * before it releases the lease, so terms do not overlap. A controller that ends by itself fails the process.
 */
export class ElectedControllers implements Runnable {
  readonly name = 'controllers';
  readonly #modules: Modules;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly ended = this.#ended.promise;
  #running: Promise<void> = Promise.resolve();

  constructor(modules: Modules) {
    this.#modules = modules;
    this.ended.catch(() => {});
  }

  /** Resolves once the controllers are running or the leader election has started. */
  async start(): Promise<void> {
    const { elector } = this.#modules;
    const started = Promise.withResolvers<void>();
    const run = elector === undefined ? this.#term(this.#abort.signal, started.resolve) : this.#campaign(elector);
    this.#running = run.then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
    if (elector === undefined) await Promise.race([started.promise, this.ended]);
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
  }

  async #campaign(elector: LeaderElector): Promise<void> {
    const { logger } = this.#modules;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        await elector.run(signal, async (term) => {
          logger.info('started leading');
          await this.#term(term, () => {});
        });
      } catch (error) {
        if (!(error instanceof LeadershipLostError)) throw error;
        logger.warn('stopped leading', { error });
      }
    }
  }

  /** Runs until the signal aborts; throws when a controller failed. */
  async #term(signal: AbortSignal, onStarted: () => void): Promise<void> {
    const informers = new LeaderTermInformerFactory({ source: this.#modules.informers });
    const globalInformers = new LeaderTermInformerSource({ source: this.#modules.globalInformers });
    const running: Runnable[] = [];
    try {
      await yieldToEventLoop();
      if (signal.aborted) return;
      // Starting all controllers takes longer than one time slice.
      const slices = timeSlices();
      for (const controller of this.#modules.make(informers, globalInformers)) {
        if (slices.isExceeded) await slices.yield();
        if (signal.aborted) return;
        running.push(controller);
        await controller.start();
      }
      onStarted();
      const ends = running.map(async ({ name, ended }) => {
        await (ended ?? new Promise<never>(() => {}));
        throw new Error(`the controller ${name} ended`);
      });
      await untilAborted(Promise.race(ends), signal);
    } finally {
      informers.end();
      globalInformers.end();
      await Promise.all(running.toReversed().map((controller) => controller.stop()));
    }
  }
}
