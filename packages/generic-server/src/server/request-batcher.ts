import type { EventLoopScheduler } from '@multiplane/component-base';

/** Largest number of requests that start together. */
const maxBatch = 32;
/** Target duration of a batch in milliseconds, including the synchronous work that follows from its requests. */
const batchMs = 5;

/**
 * Starts the requests of one event-loop iteration together at its end.
 *
 * A request runs through more code than the processor's caches hold, and reading the next one from its socket, down to the
 * kernel, evicts the rest. So all sockets are read first; then the requests start, and each step of all of them runs before
 * the next step of any, as their promises resolve.
 *
 * Thousands of clients that reconnect at the same time must not block the event loop for the sum of their requests. So a
 * batch is limited, first come, first served, and its size is adjusted to the duration of the previous batch. Longer work
 * yields once the requests of its batch have used the shared time slice (`timeSlices`).
 *
 * While iterations have a single request each, it starts immediately.
 */
export class RequestBatcher {
  readonly #scheduler: EventLoopScheduler;
  #waiting: (() => void)[] = [];
  #isScheduled = false;
  #batchSize = maxBatch;
  /** Requests of the running batch, and the time at which they started. */
  #started = 0;
  #startedAt = 0;
  /** Requests that arrived in this iteration. */
  #arrived = 0;
  /** The previous iteration with requests had a single one. */
  #wasSingle = true;

  constructor({ scheduler }: { readonly scheduler: EventLoopScheduler }) {
    this.#scheduler = scheduler;
  }

  /** Starts a request now or in a later iteration. It must not throw. */
  start(request: () => void): void {
    if (this.#arrived++ === 0) {
      this.#scheduler.schedule(() => this.#endIteration());
      if (this.#wasSingle && this.#waiting.length === 0) {
        request();
        return;
      }
    }
    this.#waiting.push(request);
    this.#scheduleBatch();
  }

  #endIteration(): void {
    this.#wasSingle = this.#arrived === 1;
    this.#arrived = 0;
  }

  #scheduleBatch(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#scheduler.schedule(() => this.#startBatch());
    // Runs after all work that the batch caused without waiting for I/O.
    this.#scheduler.schedule(() => this.#adjustBatchSize());
  }

  #startBatch(): void {
    this.#scheduler.startSharedSlice(batchMs);
    this.#startedAt = this.#scheduler.now();
    const batch = this.#waiting.slice(0, this.#batchSize);
    this.#started = batch.length;
    for (const request of batch) request();
    this.#waiting = this.#waiting.slice(batch.length);
  }

  #adjustBatchSize(): void {
    this.#scheduler.endSharedSlice();
    const duration = this.#scheduler.now() - this.#startedAt;
    const affordable = duration > 0 ? Math.floor((this.#started * batchMs) / duration) : maxBatch;
    this.#batchSize = Math.max(1, Math.min(affordable, this.#batchSize * 2, maxBatch));
    this.#isScheduled = false;
    if (this.#waiting.length > 0) this.#scheduleBatch();
  }
}
