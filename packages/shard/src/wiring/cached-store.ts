import { failureLevel, untilAborted, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import { openWatchCache, type Storage } from '@multiplane/storage';

/** Values come into memory at the latest so long after the start. */
const latestFillMs = 30_000;

/**
 * The watch cache of a shard, and when its values come into memory (ADR 67):
 *
 *   opened     keys are known soon; a value is read when somebody asks for it
 *   serving    the shard answers: all values are read now, in the order of the files
 *   filled     nobody waits for a file any more: the shard is ready, and its controllers begin
 */
export class CachedStore {
  readonly cache: ReturnType<typeof openWatchCache>;
  /** Rejects when a value cannot be read, which is found after the start; never resolves. */
  readonly unreadable: Promise<never>;
  /** Controllers look at everything: that is read faster as a whole than one by one. */
  readonly loading: Runnable;
  readonly #serving = Promise.withResolvers<void>();

  constructor(modules: {
    readonly storage: Storage;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  }) {
    const { storage, clock, logger, signal } = modules;
    const cache = openWatchCache(
      {},
      {
        storage,
        clock,
        onError: (error, what, failures) => logger[failureLevel(failures)]('watch cache', { what, failures, error }),
        // Nothing may wait for ever for values before there is a listener.
        whenToFill: Promise.race([this.#serving.promise, clock.sleep(latestFillMs, signal).catch(() => undefined)]),
      },
    );
    this.cache = cache;
    this.unreadable = new Promise<never>((_, reject) => void cache.filled.catch(reject));
    // Nobody may have begun to wait for it when the cache is closed.
    this.unreadable.catch(() => undefined);
    this.loading = {
      name: 'values of the store',
      start: () => untilAborted(cache.filled, signal),
      stop: async () => undefined,
    };
  }

  /** Requests are answered from now on. */
  serving(): void {
    this.#serving.resolve();
  }

  /** For the health of the shard; throws while somebody might wait for a value. */
  check(): void {
    if (!this.cache.isReady() || !this.cache.isFilled()) throw new Error('the watch cache is not ready');
  }
}
