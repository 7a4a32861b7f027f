import { expect, test } from '@jest/globals';
import { MetricsRegistry } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import { WorkQueueMetrics } from './work-queue-metrics.ts';
import { WorkQueue } from './work-queue.ts';

test('exports depth, adds and retries by name, until a queue is removed', async () => {
  const registry = new MetricsRegistry();
  const metrics = new WorkQueueMetrics(registry);
  const queue = new WorkQueue({}, { clock: new FakeClock() });
  const remove = metrics.add('crd', queue);
  queue.add('a');
  queue.add('a');
  queue.add('b');
  await queue.get();
  queue.addRateLimited('a');
  const text = await registry.render();
  expect(text).toContain('workqueue_depth{name="crd"} 1\n');
  expect(text).toContain('workqueue_adds_total{name="crd"} 2\n');
  expect(text).toContain('workqueue_retries_total{name="crd"} 1\n');
  remove();
  expect(await registry.render()).not.toContain('workqueue_depth{');
  queue.stop();
});

test('knows for how long the oldest key of a name waits, its failures and delays included', async () => {
  const metrics = new WorkQueueMetrics(new MetricsRegistry());
  const clock = new FakeClock();
  const queue = new WorkQueue({ baseDelayMs: 60_000 }, { clock });
  metrics.add('replication', queue);
  metrics.add('other', new WorkQueue({}, { clock }));
  const waits = (): number => metrics.oldestPendingMs('replication');
  expect(waits()).toBe(0);
  queue.add('slow');
  await clock.advance(2_000);
  queue.add('later');
  expect(waits()).toBe(2_000);
  // A failure: the key is neither queued nor in progress, and its change is still missing.
  await queue.get();
  queue.addRateLimited('slow');
  queue.done('slow');
  await clock.advance(3_000);
  expect(waits()).toBe(5_000);
  queue.forget('slow');
  expect(waits()).toBe(3_000);
  // Changed while it is reconciled: the next change waits from the end of this reconciliation.
  await queue.get();
  queue.add('later');
  await clock.advance(1_000);
  queue.forget('later');
  queue.done('later');
  await clock.advance(4_000);
  expect(waits()).toBe(4_000);
  queue.stop();
  expect(waits()).toBe(0);
});
