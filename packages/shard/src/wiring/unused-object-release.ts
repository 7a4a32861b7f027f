import type { ObjectReader } from '@multiplane/apiserver';
import type { Clock, Runnable, Timer } from '@multiplane/component-base';

const periodMs = 15_000;

/**
 * Releases parsed objects and encoded list segments that were not used for 15 to 30 seconds, so that the memory of a shard
 * follows its load down as well as up.
 */
export class UnusedObjectRelease implements Runnable {
  readonly name = 'unused-object-release';
  readonly #reader: Pick<ObjectReader, 'releaseUnused'>;
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(modules: { readonly reader: Pick<ObjectReader, 'releaseUnused'>; readonly clock: Clock }) {
    this.#reader = modules.reader;
    this.#clock = modules.clock;
  }

  start(): Promise<void> {
    this.#timer = this.#clock.after(periodMs, () => {
      this.#reader.releaseUnused();
      void this.start();
    });
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#timer?.cancel();
    return Promise.resolve();
  }
}
