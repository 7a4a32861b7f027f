import type { MetricsRegistry } from '@multiplane/component-base';
import type { WorkQueue } from './work-queue.ts';

/** What is read of a queue, whatever its keys are. */
type CountedQueue = Pick<WorkQueue, 'length' | 'adds' | 'retries' | 'oldestPendingMs'>;

/** Work queues of one process by name, of which there are as many as controllers; further ones are counted as `other`. */
const maxQueues = 60;

/**
 * client-go's metrics `workqueue_*` of all work queues of a server. They are read from the queues at each scrape, so that a
 * queue does nothing for them but count. Queues with the same name are summed up; of
 * their ages the highest counts. A new term of leadership starts new queues,
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
    registry.gauge({
      name: 'multiplane_workqueue_oldest_pending_seconds',
      help: 'Time since the key was queued that waits longest for its reconciliation, failures included.',
      labels,
      readAll: () => {
        const oldest = new Map<string, number>();
        for (const { name, queue } of this.#queues)
          oldest.set(name, Math.max(oldest.get(name) ?? 0, queue.oldestPendingMs / 1000));
        return Array.from(oldest, ([name, seconds]) => [{ name }, seconds] as const);
      },
    });
  }

  /** Includes a queue until the result is called. */
  add(name: string, queue: CountedQueue): () => void {
    const entry = { name, queue };
    this.#queues.add(entry);
    return () => this.#queues.delete(entry);
  }

  #read(value: (queue: CountedQueue) => number): (readonly [{ readonly name: string }, number])[] {
    return Array.from(this.#queues, ({ name, queue }) => [{ name }, value(queue)] as const);
  }
}
