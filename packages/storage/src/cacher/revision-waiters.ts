import type { Clock, Timer } from '@multiplane/component-base';

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  timer: Timer | undefined;
}

/**
 * Readers that wait until the cache reaches a revision. Sorted by revision, which is also the usual order of arrival, so
 * that progress only examines the front.
 */
export class RevisionWaiters {
  readonly #clock: Clock;
  #waiters: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiters.length;
  }

  /** Resolves when {@link reached} reports the revision; rejects with `onTimeout()` after `timeoutMs` (Infinity: never). */
  wait(revision: number, timeoutMs: number, onTimeout: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { revision, resolve, reject, timer: undefined };
      let index = this.#waiters.length;
      while (index > 0 && (this.#waiters[index - 1] as Waiter).revision > revision) index--;
      this.#waiters.splice(index, 0, waiter);
      if (timeoutMs === Infinity) return;
      waiter.timer = this.#clock.after(timeoutMs, () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(onTimeout());
      });
    });
  }

  reached(revision: number): void {
    if (this.#waiters.length === 0 || (this.#waiters[0] as Waiter).revision > revision) return;
    let count = 0;
    while (count < this.#waiters.length && (this.#waiters[count] as Waiter).revision <= revision) count++;
    for (const waiter of this.#waiters.splice(0, count)) {
      waiter.timer?.cancel();
      waiter.resolve();
    }
  }

  failAll(error: Error): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      waiter.timer?.cancel();
      waiter.reject(error);
    }
  }
}
