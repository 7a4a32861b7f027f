import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { silentLogger } from '@multiplane/component-base';
import { eventLoopIdle, FakeClock } from '@multiplane/testing';
import { Supervisor, type LaunchedProcess, type SupervisedProcess } from './supervisor.ts';

interface Launched {
  readonly name: string;
  readonly end: (how: string) => void;
}

const processes: readonly SupervisedProcess[] = [
  { name: 'cache', needs: [] },
  { name: 'root', needs: ['cache'] },
  { name: 'one', needs: ['cache', 'root'] },
  { name: 'proxy', needs: ['root', 'one'] },
];

let clock: FakeClock;
let stop: AbortController;
/** What happened, in order: `+name` launched, `-name SIGNAL`. */
let events: string[];
let running: Map<string, Launched>;
/** Processes that are not ready yet. */
let unready: Set<string>;
/** Processes that SIGTERM does not end. */
let stubborn: Set<string>;
let warn: jest.Mock<(text: string, fields?: object) => void>;
let onReady: jest.Mock<() => void>;
let outcome: Promise<string>;

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  events = [];
  running = new Map();
  unready = new Set();
  stubborn = new Set();
  warn = jest.fn();
  onReady = jest.fn();
});

afterEach(async () => {
  stubborn.clear();
  stop.abort();
  await outcome;
  if (clock.timers + running.size > 0) throw new Error(`${clock.timers} timers and ${running.size} processes are left`);
});

function launch({ name }: SupervisedProcess): LaunchedProcess {
  events.push(`+${name}`);
  const ended = Promise.withResolvers<string>();
  const end = (how: string): void => {
    running.delete(name);
    ended.resolve(how);
  };
  running.set(name, { name, end });
  const kill = (signal: string): void => {
    events.push(`-${name} ${signal}`);
    if (signal === 'SIGKILL' || !stubborn.has(name)) end(signal);
  };
  return { pid: 1, ended: ended.promise, kill };
}

async function start(): Promise<void> {
  const supervisor = new Supervisor(
    { processes, startTimeout: 60_000, stopTimeout: 10_000 },
    {
      launch,
      probe: async ({ name }) => (running.has(name) && !unready.has(name) ? 'ready' : 'starting'),
      clock,
      logger: { ...silentLogger, warn },
      random: () => 0.5,
    },
  );
  outcome = supervisor.run(stop.signal, onReady).then(
    () => 'stopped',
    (error: Error) => error.message,
  );
  await eventLoopIdle();
}

test('a process starts when those that it needs are ready, and all together are ready last', async () => {
  unready = new Set(['cache', 'one']);
  await start();
  expect(events).toEqual(['+cache']);
  unready.delete('cache');
  await clock.advance(1000);
  expect(events).toEqual(['+cache', '+root', '+one']);
  expect(onReady).not.toHaveBeenCalled();
  unready.delete('one');
  await clock.advance(1000);
  expect(events.at(-1)).toBe('+proxy');
  expect(onReady).toHaveBeenCalledTimes(1);
});

test('it stops in the opposite order, and kills what does not end', async () => {
  await start();
  events = [];
  stubborn.add('one');
  stop.abort();
  await clock.advance(9_000);
  expect(events).toEqual(['-proxy SIGTERM', '-one SIGTERM']);
  await clock.advance(1_000);
  expect(await outcome).toBe('stopped');
  expect(events.slice(2)).toEqual(['-one SIGKILL', '-root SIGTERM', '-cache SIGTERM']);
  expect(warn).toHaveBeenCalledWith(
    'process did not stop in time and is killed',
    expect.objectContaining({ name: 'one' }),
  );
});

test('what ends is launched again, later each time, and those that need it go on', async () => {
  await start();
  events = [];
  for (const pause of [250, 500, 1000]) {
    running.get('root')?.end('SIGKILL');
    await clock.advance(pause - 1);
    expect(events).toEqual([]);
    await clock.advance(1);
    expect(events).toEqual(['+root']);
    events = [];
  }
  // It has run for a minute: the next end counts as the first one.
  await clock.advance(60_000);
  running.get('root')?.end('exit code 1');
  await clock.advance(250);
  expect(events).toEqual(['+root']);
  expect(onReady).toHaveBeenCalledTimes(1);
});

test('a process that ends while it starts again is launched until it stays', async () => {
  await start();
  events = [];
  unready.add('root');
  running.get('root')?.end('SIGKILL');
  await clock.advance(250);
  running.get('root')?.end('exit code 1');
  await clock.advance(500);
  unready.delete('root');
  await clock.advance(1000);
  expect(events).toEqual(['+root', '+root']);
  expect(running.has('root')).toBe(true);
});

test('nothing is launched after the signal', async () => {
  await start();
  running.get('root')?.end('SIGKILL');
  await eventLoopIdle();
  events = [];
  stop.abort();
  await clock.advance(60_000);
  expect(await outcome).toBe('stopped');
  expect(events).toEqual(['-proxy SIGTERM', '-one SIGTERM', '-cache SIGTERM']);
});

test('a process that ends before it was ready fails the start, and the others are stopped', async () => {
  unready.add('root');
  await start();
  running.get('root')?.end('exit code 1');
  expect(await outcome).toBe('root ended before it was ready: exit code 1');
  expect(events).toEqual(['+cache', '+root', '-cache SIGTERM']);
  expect(onReady).not.toHaveBeenCalled();
});

test('a start that takes too long fails and names what is missing', async () => {
  unready.add('one');
  await start();
  await clock.advance(60_000);
  expect(await outcome).toBe('not ready after 60 s: one, proxy');
  expect(running.size).toBe(0);
});

test('a signal during the start stops what has started', async () => {
  unready.add('one');
  await start();
  stop.abort();
  expect(await outcome).toBe('stopped');
  expect(events).toEqual(['+cache', '+root', '+one', '-one SIGTERM', '-root SIGTERM', '-cache SIGTERM']);
});
