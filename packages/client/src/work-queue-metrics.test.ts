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
