import type { EventLoopScheduler } from '@multiplane/component-base';

/** Largest number of requests that start together. */
const maxBatch = 32;
/** Target duration of a batch in milliseconds, including the synchronous work that follows from its requests. */
const batchMs = 5;

type Start = () => void;

/**
 * Starts the requests of one event-loop iteration together at its end.
 *
 * A request runs through more code than the processor's caches hold, and reading the next one from its socket, down to the
 * kernel, evicts the rest. So all sockets are read first; then the requests start, and each step of all of them runs before
 * the next step of any, as their promises resolve.
 *
 * Thousands of clients that reconnect at the same time must not block the event loop for the sum of their requests. So a
 * batch is limited, and its size is adjusted to the duration of the previous batch. Longer work yields once the requests of
 * its batch have used the shared time slice (`timeSlices`).
 *
 * Requests beyond a batch wait in a queue per owner, and the owners take turns: one client that sends two thousand requests
 * at a time does not delay the request of another one by a hundred iterations. The owner is what the client authenticates
 * with, or its connection; it is not verified yet. Priority and fairness comes later, when the user is known.
 *
 * While iterations have a single request each, it starts immediately.
 */
export class RequestBatcher {
  readonly #scheduler: EventLoopScheduler;
  /** Requests since the last batch, and their owners, in their order. */
  #waiting: Start[] = [];
  #owners: unknown[] = [];
  /** Requests that did not fit into a batch, by owner; owners in the order of their turns. */
  readonly #backlog = new Map<unknown, { readonly starts: Start[]; next: number }>();
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

  /** Starts a request now or in a later iteration. It must not throw. Owners are compared as keys of a Map. */
  start(request: Start, owner?: unknown): void {
    if (this.#arrived++ === 0) {
      this.#scheduler.schedule(() => this.#endIteration());
      if (this.#wasSingle && this.#waiting.length === 0 && this.#backlog.size === 0) {
        request();
        return;
      }
    }
    this.#waiting.push(request);
    this.#owners.push(owner);
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
    const batch = this.#takeBatch();
    this.#started = batch.length;
    for (const request of batch) request();
  }

  #takeBatch(): readonly Start[] {
    const [waiting, owners] = [this.#waiting, this.#owners];
    this.#waiting = [];
    this.#owners = [];
    if (this.#backlog.size === 0 && waiting.length <= this.#batchSize) return waiting;
    for (const [index, start] of waiting.entries()) {
      const queue = this.#backlog.get(owners[index]);
      if (queue === undefined) this.#backlog.set(owners[index], { starts: [start], next: 0 });
      else queue.starts.push(start);
    }
    const batch: Start[] = [];
    // An owner that is set again comes last, so the loop visits the owners in turns.
    for (const [owner, queue] of this.#backlog) {
      if (batch.length >= this.#batchSize) break;
      this.#backlog.delete(owner);
      batch.push(queue.starts[queue.next++] as Start);
      if (queue.next < queue.starts.length) this.#backlog.set(owner, queue);
    }
    return batch;
  }

  #adjustBatchSize(): void {
    this.#scheduler.endSharedSlice();
    const duration = this.#scheduler.now() - this.#startedAt;
    const affordable = duration > 0 ? Math.floor((this.#started * batchMs) / duration) : maxBatch;
    this.#batchSize = Math.max(1, Math.min(affordable, this.#batchSize * 2, maxBatch));
    this.#isScheduled = false;
    if (this.#waiting.length > 0 || this.#backlog.size > 0) this.#scheduleBatch();
  }
}
