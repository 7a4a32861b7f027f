import { EventEmitter } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { HealthChecks } from '../health/health-checks.ts';
import { renderHealth } from '../health/render-health.ts';
import { silentLogger } from '../logging/create-logger.ts';
import { Lifecycle, type LifecycleOptions, UnexpectedEndError } from './lifecycle.ts';
import { type Runnable, loop } from './runnable.ts';
import { ShutdownSignal } from './signals.ts';
import { FakeClock } from '@multiplane/testing';

type Group = 'storage' | 'servers';

function setUp(options: Partial<LifecycleOptions<Group>> = {}) {
  const clock = new FakeClock();
  const health = new HealthChecks();
  const controller = new AbortController();
  const events: string[] = [];
  const warn = jest.fn();
  const lifecycle = new Lifecycle<Group>(
    { groups: ['storage', 'servers'], ...options },
    { logger: { ...silentLogger, warn }, health, clock },
  );
  const service = (name: string, overrides: Partial<Runnable> = {}): Runnable => ({
    name,
    start: () => {
      events.push(`start ${name}`);
      return Promise.resolve();
    },
    stop: () => {
      events.push(`stop ${name}`);
      return Promise.resolve();
    },
    ...overrides,
  });
  const readiness = async (): Promise<number> => (await renderHealth(health, { endpoint: 'readyz' })).status;
  return { clock, controller, events, health, lifecycle, service, readiness, warn };
}

test('starts groups in order, becomes ready, and stops in reverse order', async () => {
  const { clock, controller, events, lifecycle, service, readiness } = setUp();
  lifecycle.add('servers', service('https'));
  lifecycle.add('storage', service('file'));
  expect(await readiness()).toBe(500);
  const run = lifecycle.run(controller.signal, () => events.push('ready'));
  await clock.advance(0);
  expect(await readiness()).toBe(200);
  controller.abort();
  await clock.advance(0);
  await run;
  expect(events).toEqual(['start file', 'start https', 'ready', 'stop https', 'stop file']);
});

test('fails readiness for the shutdown delay before anything stops', async () => {
  const { clock, controller, events, lifecycle, service, readiness } = setUp({ shutdownDelay: 1000 });
  lifecycle.add('servers', service('https'));
  const run = lifecycle.run(controller.signal);
  await clock.advance(0);
  controller.abort();
  await clock.advance(999);
  expect(await readiness()).toBe(500);
  expect(events).toEqual(['start https']);
  await clock.advance(1);
  await run;
  expect(events).toEqual(['start https', 'stop https']);
});

test.each([
  ['returns', () => Promise.resolve()],
  ['throws', () => Promise.reject(new Error('poison'))],
])('a loop that %s by itself fails the process, readiness first', async (_how, end) => {
  const { clock, controller, events, lifecycle, service, readiness } = setUp({ shutdownDelay: 1000 });
  const gate = Promise.withResolvers<void>();
  let readyAtStop: number | undefined;
  lifecycle.add(
    'storage',
    loop('replication', async (_signal, ready) => {
      ready();
      await gate.promise;
      await end();
    }),
  );
  lifecycle.add(
    'servers',
    service('https', {
      stop: async () => {
        readyAtStop = await readiness();
        events.push('stop https');
      },
    }),
  );
  const run = lifecycle.run(controller.signal);
  const failed = expect(run).rejects.toThrow(UnexpectedEndError);
  await clock.advance(0);
  expect(await readiness()).toBe(200);
  gate.resolve();
  await failed;
  expect(readyAtStop).toBe(500);
  expect(events).toEqual(['start https', 'stop https']);
});

test('a failed start stops what had started, and is thrown', async () => {
  const { clock, controller, events, lifecycle, service } = setUp();
  lifecycle.add('storage', service('file'));
  lifecycle.add('servers', service('https', { start: () => Promise.reject(new Error('port taken')) }));
  const run = lifecycle.run(controller.signal);
  const failed = expect(run).rejects.toMatchObject({
    message: 'failed to start https',
    cause: { message: 'port taken' },
  });
  await clock.advance(0);
  await failed;
  expect(events).toEqual(['start file', 'stop https', 'stop file']);
});

test('a runnable that does not stop in time does not block the others', async () => {
  const { clock, controller, events, lifecycle, service, warn } = setUp({ stopTimeout: 100 });
  lifecycle.add('storage', service('file'));
  lifecycle.add('servers', service('https', { stop: () => new Promise(() => {}) }));
  const run = lifecycle.run(controller.signal);
  const failed = expect(run).rejects.toMatchObject({
    message: 'failed to stop https',
    cause: { message: 'timed out after 100 ms' },
  });
  await clock.advance(0);
  controller.abort();
  await clock.advance(100);
  // Logged immediately, because the process may be killed before `run` throws.
  expect(warn).toHaveBeenCalledWith('did not stop in time', { name: 'https', ms: 100 });
  await failed;
  expect(events).toEqual(['start file', 'start https', 'stop file']);
});

test('a signal during the start takes effect after the group that is starting', async () => {
  const { clock, controller, events, lifecycle, service } = setUp();
  const slow = Promise.withResolvers<void>();
  lifecycle.add('storage', service('file', { start: () => slow.promise }));
  lifecycle.add('servers', service('https'));
  const run = lifecycle.run(controller.signal);
  controller.abort();
  await clock.advance(0);
  expect(events).toEqual([]);
  slow.resolve();
  await clock.advance(0);
  await run;
  expect(events).toEqual(['stop file']);
});

test('a slow start logs every ten seconds what it waits for', async () => {
  const { clock, controller, health, lifecycle, service, warn } = setUp();
  const slow = Promise.withResolvers<void>();
  let isLoaded = false;
  health.add('cache-sync', () => {
    if (!isLoaded) throw new Error('nothing was read yet');
  });
  lifecycle.add('storage', service('file', { start: () => slow.promise }));
  lifecycle.add('storage', service('worker'));
  lifecycle.add('servers', service('https'));
  const run = lifecycle.run(controller.signal);
  await clock.advance(9_999);
  expect(warn).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(warn.mock.calls).toEqual([
    ['still starting', { seconds: 10, waitingFor: ['file'], missing: ['cache-sync: nothing was read yet'] }],
  ]);
  isLoaded = true;
  await clock.advance(10_000);
  expect(warn.mock.calls.slice(1)).toEqual([['still starting', { seconds: 20, waitingFor: ['file'], missing: [] }]]);
  slow.resolve();
  await clock.advance(60_000);
  expect(warn).toHaveBeenCalledTimes(2);
  controller.abort();
  await clock.advance(0);
  await run;
  expect(clock.timers).toBe(0);
});

test('a start that hangs does not block the shutdown', async () => {
  const { clock, controller, events, lifecycle, service, warn } = setUp({ stopTimeout: 100 });
  lifecycle.add('storage', service('file', { start: () => new Promise(() => {}) }));
  lifecycle.add('servers', service('https'));
  const run = lifecycle.run(controller.signal);
  await clock.advance(0);
  controller.abort();
  await clock.advance(99);
  expect(events).toEqual([]);
  await clock.advance(1);
  await run;
  expect(events).toEqual(['stop file']);
  expect(warn).toHaveBeenCalledWith('stopping before all runnables have started', { waitingFor: ['file'] });
  expect(clock.timers).toBe(0);
});

test('rejects runnables after the start or for unknown groups, and a second run', async () => {
  const { controller, clock, lifecycle, service } = setUp();
  expect(() => lifecycle.add('nowhere' as Group, service('x'))).toThrow('unknown group nowhere');
  controller.abort();
  const run = lifecycle.run(controller.signal);
  await clock.advance(0);
  await run;
  expect(() => lifecycle.add('servers', service('x'))).toThrow('already started');
  await expect(lifecycle.run(controller.signal)).rejects.toThrow('already run');
});

test('a loop that throws the abort reason after stop has not failed', async () => {
  const runnable = loop('watch', (signal, ready) => {
    ready();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  });
  await runnable.start();
  await runnable.stop();
  await expect(runnable.ended).resolves.toBeUndefined();
});

test('a loop that fails before it is ready fails its start', async () => {
  const runnable = loop('watch', () => Promise.reject(new Error('no server')));
  await expect(runnable.start()).rejects.toThrow('no server');
});

test('the first signal aborts, the second one forces the exit', () => {
  const source = new EventEmitter();
  const forceExit = jest.fn();
  {
    using shutdown = new ShutdownSignal({ source, logger: silentLogger, forceExit });
    source.emit('SIGTERM', 'SIGTERM');
    expect(shutdown.signal.reason).toMatchObject({ message: 'received SIGTERM' });
    expect(forceExit).not.toHaveBeenCalled();
    source.emit('SIGINT', 'SIGINT');
    expect(forceExit).toHaveBeenCalledWith(130);
  }
  expect(source.listenerCount('SIGTERM') + source.listenerCount('SIGINT')).toBe(0);
});
