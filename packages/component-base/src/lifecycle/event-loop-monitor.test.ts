import { describe, expect, jest, test } from '@jest/globals';
import { silentLogger } from '../logging/create-logger.ts';
import { HealthChecks } from '../health/health-checks.ts';
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
    { clock, metrics, health: new HealthChecks(), logger: { ...silentLogger, warn }, histogram },
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
  const monitor = new EventLoopMonitor({}, { clock, metrics, health: new HealthChecks(), logger: silentLogger });
  await monitor.start();
  await clock.advance(10_000);
  await monitor.stop();
  expect(await metrics.render()).toMatch(/multiplane_event_loop_delay_seconds\{quantile="0.99"\} \d/);
});

describe('readiness', () => {
  /** A clock whose time goes on while the event loop is stalled. */
  class StallingClock extends FakeClock {
    #stalled = 0;
    stall(ms: number): void {
      this.#stalled += ms;
    }
    override monotonic(): number {
      return super.monotonic() + this.#stalled;
    }
  }

  async function start(): Promise<{
    readonly clock: StallingClock;
    readonly monitor: EventLoopMonitor;
    readonly ready: () => Promise<boolean>;
  }> {
    const clock = new StallingClock();
    const health = new HealthChecks();
    const monitor = new EventLoopMonitor({}, { clock, health, metrics: new MetricsRegistry(), logger: silentLogger });
    await monitor.start();
    expect([health.names('livez'), health.names('readyz')]).toEqual([['ping'], ['ping', 'event-loop']]);
    const ready = async (): Promise<boolean> =>
      (await health.run(health.names('readyz'))).every(({ error }) => error === undefined);
    return { clock, monitor, ready };
  }

  test('fails after one long stall, for the first request after it, and recovers', async () => {
    const { clock, monitor, ready } = await start();
    await clock.advance(20_000);
    expect(await ready()).toBe(true);
    clock.stall(11_000);
    expect(await ready()).toBe(false);
    await clock.advance(19_000);
    expect(await ready()).toBe(false);
    await clock.advance(2_000);
    expect(await ready()).toBe(true);
    await monitor.stop();
    expect(clock.timers).toBe(0);
  });

  test('fails while stalls repeat, each of them tolerable', async () => {
    const { clock, monitor, ready } = await start();
    const states: boolean[] = [];
    for (let i = 0; i < 6; i++) {
      clock.stall(3_000);
      await clock.advance(1_000);
      states.push(await ready());
    }
    expect(states).toEqual([true, true, true, false, false, false]);
    await clock.advance(21_000);
    expect(await ready()).toBe(true);
    await monitor.stop();
  });

  test('does not depend on short delays', async () => {
    const { clock, monitor, ready } = await start();
    for (let i = 0; i < 100; i++) {
      clock.stall(400);
      await clock.advance(1_000);
      expect(await ready()).toBe(true);
    }
    await monitor.stop();
  });
});
