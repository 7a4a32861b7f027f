import { failureLevel, untilAborted, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import { ClusterUsage, openWatchCache, type Storage } from '@multiplane/storage';

/** The values are read at the latest this long after the start. */
const maxLoadDelayMs = 30_000;

/** Resources that limits count apart: events are no objects (as in kcp), and definitions have limits of their own. */
const usageClasses = new Map([
  ['core/events', 'events'],
  ['events.k8s.io/events', 'events'],
  ['apiextensions.k8s.io/customresourcedefinitions', 'definitions'],
  ['apis.kcp.io/apiresourceschemas', 'definitions'],
] as const);

/**
 * The watch cache of a shard, and when it reads its values (docs/adr/0067-key-index-snapshot.md):
 *
 *   opened     the keys are loaded; a value is read on first use
 *   serving    requests are answered: all values are read now, in the order in which the files hold them
 *   loaded     no read waits for a file: the shard is ready, and its controllers start
 */
export class CachedStore {
  readonly cache: ReturnType<typeof openWatchCache>;
  /** What each logical cluster stores; counted when requests are served. */
  readonly usage: ClusterUsage;
  /** Rejects when reading a value fails after the start; never resolves. */
  readonly readFailure: Promise<never>;
  /** Waits for all values: controllers list everything, and reading in file order is faster than value by value. */
  readonly loading: Runnable;
  readonly #serving = Promise.withResolvers<void>();

  constructor(modules: {
    readonly storage: Storage;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  }) {
    const { storage, clock, logger, signal } = modules;
    // The bound covers a start that needs values before requests are served.
    const serving = Promise.race([this.#serving.promise, clock.sleep(maxLoadDelayMs, signal).catch(() => undefined)]);
    this.usage = new ClusterUsage({ classes: usageClasses }, { clock, countAfter: serving });
    const cache = openWatchCache(
      {},
      {
        storage,
        clock,
        onError: (error, what, failures) => logger[failureLevel(failures)]('watch cache', { what, failures, error }),
        loadValuesAfter: serving,
        observer: this.usage,
      },
    );
    this.cache = cache;
    this.readFailure = new Promise<never>((_, reject) => void cache.valuesLoaded.catch(reject));
    // Closing the cache before the lifecycle awaits this promise must not cause an unhandled rejection.
    this.readFailure.catch(() => undefined);
    this.loading = {
      name: 'values of the store',
      start: () => untilAborted(cache.valuesLoaded, signal),
      stop: async () => undefined,
    };
  }

  /** Reads all values from now on; called once requests are served. */
  loadValues(): void {
    this.#serving.resolve();
  }

  /** Health check: throws while a read may still wait for a value. */
  check(): void {
    if (!this.cache.isReady() || !this.cache.areValuesLoaded()) throw new Error('the watch cache is not ready');
  }
}
