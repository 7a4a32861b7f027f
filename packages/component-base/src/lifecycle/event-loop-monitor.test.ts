import { expect, jest, test } from '@jest/globals';
import { FakeClock } from '../clock/fake-clock.ts';
import { silentLogger } from '../logging/create-logger.ts';
import { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { EventLoopMonitor } from './event-loop-monitor.ts';

test('exports the delay and warns when something held the loop', async () => {
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
  expect(warn).toHaveBeenCalledWith('the event loop was held', { maxMs: 90, p99Ms: 5 });
  await monitor.stop();
  expect(clock.timers).toBe(0);
});

test('the real histogram works, too', async () => {
  const clock = new FakeClock();
  const metrics = new MetricsRegistry();
  const monitor = new EventLoopMonitor({}, { clock, metrics, logger: silentLogger });
  await monitor.start();
  await clock.advance(10_000);
  await monitor.stop();
  expect(await metrics.render()).toMatch(/multiplane_event_loop_delay_seconds\{quantile="0.99"\} \d/);
});
