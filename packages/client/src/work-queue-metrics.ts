import type { MetricsRegistry } from '@multiplane/component-base';
import type { WorkQueue } from './work-queue.ts';

/** What is read of a queue, whatever its keys are. */
type CountedQueue = Pick<WorkQueue, 'length' | 'adds' | 'retries' | 'oldestPendingMs'>;

/** Work queues of one process by name, of which there are as many as controllers; further ones are counted as `other`. */
const maxQueues = 60;

/**
 * client-go's metrics `workqueue_*` of all work queues of a server. They are read from the queues at each scrape, so that a
 * queue does nothing for them but count. Queues with the same name are summed up. A new term of leadership starts new queues,
 * which count from 0, as after a restart.
 */
export class WorkQueueMetrics {
  readonly #queues = new Set<{ readonly name: string; readonly queue: CountedQueue }>();

  constructor(registry: MetricsRegistry) {
    const labels = { name: maxQueues };
    registry.gauge({
      name: 'workqueue_depth',
      help: 'Queued keys.',
      labels,
      readAll: () => this.#read((queue) => queue.length),
    });
    registry.counter({
      name: 'workqueue_adds_total',
      help: 'Keys that were queued.',
      labels,
      readAll: () => this.#read((queue) => queue.adds),
    });
    registry.counter({
      name: 'workqueue_retries_total',
      help: 'Keys that were queued again after a failure.',
      labels,
      readAll: () => this.#read((queue) => queue.retries),
    });
  }

  /** Includes a queue until the result is called. */
  add(name: string, queue: CountedQueue): () => void {
    const entry = { name, queue };
    this.#queues.add(entry);
    return () => this.#queues.delete(entry);
  }

  /** Milliseconds for which the oldest key of the queues of a name waits for its reconciliation, failures included. */
  oldestPendingMs(name: string): number {
    let oldest = 0;
    for (const entry of this.#queues) if (entry.name === name) oldest = Math.max(oldest, entry.queue.oldestPendingMs);
    return oldest;
  }

  #read(value: (queue: CountedQueue) => number): (readonly [{ readonly name: string }, number])[] {
    return Array.from(this.#queues, ({ name, queue }) => [{ name }, value(queue)] as const);
  }
}
