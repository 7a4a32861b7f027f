import { expect, jest, test } from '@jest/globals';
import { silentLogger } from '../logging/create-logger.ts';
import { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { EventLoopMonitor } from './event-loop-monitor.ts';
import { FakeClock } from '@multiplane/testing';

test('exports the delay and warns when the loop was blocked', async () => {
  const clock = new FakeClock();
  const metrics = new MetricsRegistry();
  const warn = jest.fn();
  const histogram = {
    max: 20e6,
    percentile: () => 15e6,
    enable: () => true,
    disable: () => true,
    reset: () => {},
  };
  const monitor = new EventLoopMonitor(
    { interval: 1000, limit: 50 },
    { clock, metrics, logger: { ...silentLogger, warn }, histogram },
  );
  await monitor.start();
  await clock.advance(1000);
  expect(warn).not.toHaveBeenCalled();
  expect(await metrics.render()).toContain('multiplane_event_loop_delay_seconds{quantile="1"} 0.01\n');
  histogram.max = 100e6;
  await clock.advance(1000);
  expect(warn).toHaveBeenCalledWith('event loop blocked', { maxMs: 90, p99Ms: 5 });
  await monitor.stop();
  expect(clock.timers).toBe(0);
});

test('works with the histogram of node:perf_hooks', async () => {
  const clock = new FakeClock();
  const metrics = new MetricsRegistry();
  const monitor = new EventLoopMonitor({}, { clock, metrics, logger: silentLogger });
  await monitor.start();
  await clock.advance(10_000);
  await monitor.stop();
  expect(await metrics.render()).toMatch(/multiplane_event_loop_delay_seconds\{quantile="0.99"\} \d/);
});
