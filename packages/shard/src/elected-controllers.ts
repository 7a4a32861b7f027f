import { LeadershipLostError, type InformerFactory, type InformerSource, type LeaderElector } from '@multiplane/client';
import { nextTurn, slicesOfTurns, untilAborted, type Logger, type Runnable } from '@multiplane/component-base';
import { TermInformerFactory, TermInformerSource } from './term-informers.ts';

interface Modules {
  readonly informers: InformerFactory;
  readonly globalInformers: InformerSource;
  readonly logger: Logger;
  /** Absent: this process is the only one, and leads from the start. */
  readonly elector?: LeaderElector | undefined;
  /** The controllers of one term, over informers that end with it. */
  readonly make: (informers: InformerFactory, globalInformers: InformerSource) => readonly Runnable[];
}

/**
 * Controllers that run in one replica of the shard (C5.0).
 *
 * ```
 *  campaign ──► term: make, start ──► leadership lost ──► stop, let go of the informers ──► campaign
 *                                 └─► told to stop ────► stop, give the lease back
 * ```
 *
 * Each term makes its controllers anew: what one knew may be outdated when it leads the next time. The elector waits for
 * the end of the work before it gives the lease back, so two terms never overlap. A controller that ends by itself fails
 * the process.
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

  /** Resolves when the controllers work, or when the campaign has begun. */
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
          logger.info('this replica leads');
          await this.#term(term, () => {});
        });
      } catch (error) {
        if (!(error instanceof LeadershipLostError)) throw error;
        logger.warn('this replica does not lead any more', { error });
      }
    }
  }

  /** Runs until the signal aborts; throws when a controller failed. */
  async #term(signal: AbortSignal, onStarted: () => void): Promise<void> {
    const informers = new TermInformerFactory({ source: this.#modules.informers });
    const globalInformers = new TermInformerSource({ source: this.#modules.globalInformers });
    const running: Runnable[] = [];
    try {
      await nextTurn();
      if (signal.aborted) return;
      // What begins with all controllers is much.
      const slices = slicesOfTurns();
      for (const controller of this.#modules.make(informers, globalInformers)) {
        if (slices.over) await slices.next();
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
