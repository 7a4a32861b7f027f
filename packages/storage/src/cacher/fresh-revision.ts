import { type FutureRevisionError, StorageUnavailableError, isStorageError } from '../errors.ts';
import type { Storage } from '../interface.ts';

export interface FreshRevisionOptions {
  /** How long a caller waits at most for the cache to catch up (K3.2: 3 s). */
  readonly timeoutMs: number;
}

interface FreshRevisionModules {
  readonly storage: Storage;
  /** What the cache has reached; −1: nothing yet. */
  readonly revision: () => number;
  /** Resolves when the cache has reached a revision; throws FutureRevisionError in time. */
  readonly waitFor: (revision: number, timeoutMs: number) => Promise<void>;
  /** The store answered with a revision below one that its watch had delivered before the question. */
  readonly onWentBack: (from: number, to: number) => void;
}

/**
 * Answers "which revision must a read at most recent see, and is it in the cache?" (linearizability from a cache,
 * K3.7, KEP-2340).
 *
 * On a store with one writer process the store knows the answer without asking. Otherwise one question to the backend
 * serves everybody who came before it was sent. Who comes while it is under way must not share it: the backend may have
 * answered already, and a write acknowledged since then would be missed. Those wait for the next question, which is
 * sent as soon as the present one is answered. Nothing is remembered between questions, so a process that was stopped
 * for a minute asks anew (R10).
 *
 * The cache then has to reach the answer; the contract of `currentRevision` says that its watch will.
 */
export class FreshRevision {
  readonly #options: FreshRevisionOptions;
  readonly #modules: FreshRevisionModules;
  #next: Promise<number> | undefined;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(options: FreshRevisionOptions, modules: FreshRevisionModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Throws StorageUnavailableError when the backend does not answer or the cache cannot catch up in time. Not async: on
   * a store with one writer every read passes here and nearly none has to wait.
   */
  get(): Promise<number> {
    const { storage, revision } = this.#modules;
    const local = storage.localRevision;
    if (local === undefined) return (this.#next ??= this.#askNext());
    return revision() >= local ? Promise.resolve(local) : this.#catchUp(local);
  }

  /** True where nobody has to be asked and nothing waited for. */
  get isFresh(): boolean {
    const { storage, revision } = this.#modules;
    const local = storage.localRevision;
    return local !== undefined && revision() >= local;
  }

  /** One question and what follows from it, for all who share it. */
  async #askNext(): Promise<number> {
    const { storage, revision, onWentBack } = this.#modules;
    // At least one turn of the microtask queue, so that callers of the same moment are together.
    await this.#underWay;
    this.#next = undefined;
    const before = revision();
    const answer = storage.currentRevision();
    this.#underWay = answer.catch(() => undefined);
    const wanted = await answer;
    if (wanted < before) {
      onWentBack(before, wanted);
      throw new StorageUnavailableError(`the store went back from revision ${before} to ${wanted}`);
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
        `the watch cache is at ${current} and did not reach ${wanted} in ${timeoutMs} ms`,
        error,
      );
    }
  }
}
