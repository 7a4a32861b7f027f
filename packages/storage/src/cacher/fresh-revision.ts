import { localRevisionOf } from '../capabilities/local-revision.ts';
import { type FutureRevisionError, StorageUnavailableError, isStorageError } from '../errors.ts';
import type { Storage } from '../interface.ts';

export interface FreshRevisionOptions {
  /** How long a caller waits for the cache to catch up; Kubernetes waits 3 s. */
  readonly timeoutMs: number;
}

interface FreshRevisionModules {
  readonly storage: Storage;
  /** The revision of the cache; −1: not loaded. */
  readonly revision: () => number;
  /** Resolves when the cache has reached a revision; throws FutureRevisionError after the timeout. */
  readonly waitFor: (revision: number, timeoutMs: number) => Promise<void>;
  /** The store returned a revision below one that its watch had delivered before the request. */
  readonly onRevisionRegressed: (from: number, to: number) => void;
  /** Runs a callback at the end of the current iteration of the event loop: `setImmediate`. */
  readonly defer?: ((run: () => void) => unknown) | undefined;
}

/**
 * Determines the revision that a consistent read must see, and waits until the cache has reached it (KEP-2340, consistent
 * reads from cache).
 *
 *   local revision   a store with one writer process knows its revision without I/O
 *   shared request   otherwise one request for the current revision serves all callers that arrived before it was sent.
 *                    Callers that arrive while it is in flight wait for the next request: the backend may have read its
 *                    revision already, so a write acknowledged since then would be missed. The next request is sent when
 *                    the response has arrived, at the end of an iteration of the event loop: it serves all reads that
 *                    started in this iteration.
 *   no memory        nothing is kept between requests, so a process that was suspended for a minute asks again
 *
 * The contract of `currentRevision` guarantees that the watch of the cache reaches the returned revision.
 */
export class FreshRevision {
  readonly #options: FreshRevisionOptions;
  readonly #modules: FreshRevisionModules;
  readonly #defer: (run: () => void) => unknown;
  #next: Promise<number> | undefined;
  #inFlight: Promise<unknown> = Promise.resolve();

  constructor(options: FreshRevisionOptions, modules: FreshRevisionModules) {
    this.#options = options;
    this.#modules = modules;
    this.#defer = modules.defer ?? setImmediate;
  }

  /**
   * Throws StorageUnavailableError when the backend does not respond or the cache does not catch up in time. Not async:
   * with a local revision every read calls it and hardly any has to wait.
   */
  get(): Promise<number> {
    const { storage, revision } = this.#modules;
    const local = localRevisionOf(storage);
    if (local === undefined) return (this.#next ??= this.#request());
    return revision() >= local ? Promise.resolve(local) : this.#catchUp(local);
  }

  /** True when {@link get} would resolve without a request and without waiting. */
  get isFresh(): boolean {
    const { storage, revision } = this.#modules;
    const local = localRevisionOf(storage);
    return local !== undefined && revision() >= local;
  }

  /** One request for the current revision, shared by its callers. */
  async #request(): Promise<number> {
    const { storage, revision, onRevisionRegressed } = this.#modules;
    await this.#inFlight;
    await new Promise<void>((resolve) => this.#defer(resolve));
    this.#next = undefined;
    const before = revision();
    const response = storage.currentRevision();
    this.#inFlight = response.catch(() => undefined);
    const wanted = await response;
    if (wanted < before) {
      onRevisionRegressed(before, wanted);
      throw new StorageUnavailableError(`the revision of the store went back from ${before} to ${wanted}`);
    }
    return revision() >= wanted ? wanted : await this.#catchUp(wanted);
  }

  async #catchUp(wanted: number): Promise<number> {
    const { timeoutMs } = this.#options;
    try {
      await this.#modules.waitFor(wanted, timeoutMs);
      return wanted;
    } catch (error) {
      if (!isStorageError(error, 'FutureRevision')) throw error;
      const { current } = error as FutureRevisionError;
      throw new StorageUnavailableError(
        `the watch cache did not reach revision ${wanted} in ${timeoutMs} ms: it is at ${current}`,
        error,
      );
    }
  }
}
