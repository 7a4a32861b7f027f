import { describe, expect, test } from '@jest/globals';
import { ApiError } from './api-error.ts';
import type { BrowserClock } from './browser-clock.ts';
import { objectCodec } from './codec.ts';
import type { KubeObject } from './kube-object.ts';
import { LiveListPool } from './live-list-pool.ts';
import { Reflector } from './reflector.ts';

/** Sleeps end when the test says so. */
class StepClock implements BrowserClock {
  readonly sleeps: { readonly ms: number; readonly wake: () => void }[] = [];
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.sleeps.push({ ms, wake: resolve });
      signal.addEventListener('abort', () => resolve());
    });
  }
}

type Answer = (path: string, signal: AbortSignal | undefined) => Response | Promise<Response>;

const object = (name: string, resourceVersion: string): KubeObject => ({ metadata: { name, resourceVersion } });
const list = (resourceVersion: string, items: readonly KubeObject[], token?: string): Answer => {
  const metadata = { resourceVersion, ...(token === undefined ? {} : { continue: token }) };
  return () => Response.json({ metadata, items });
};
const event = (type: string, value: unknown): string => `${JSON.stringify({ type, object: value })}\n`;
const watch =
  (...lines: string[]): Answer =>
  () =>
    new Response(lines.join(''));
/** Sends the lines and stays open until the request is aborted. */
const openWatch =
  (...lines: string[]): Answer =>
  (_, signal) =>
    new Response(
      new ReadableStream({
        start: (controller) => {
          for (const line of lines) controller.enqueue(new TextEncoder().encode(line));
          signal?.addEventListener('abort', () => controller.error(new Error('aborted')));
        },
      }),
    );
const fail =
  (code: number): Answer =>
  () => {
    throw new ApiError(code, 'Failed', `failed with ${code}`);
  };

/** Ends once all answers are given and the reflector asks for more, or has ended by itself. */
async function play(answers: readonly Answer[], random = 0) {
  const paths: string[] = [];
  const state = new Map<string, KubeObject>();
  const failures: (string | undefined)[] = [];
  const abort = new AbortController();
  const rest = [...answers];
  const pauses: number[] = [];
  const immediate: BrowserClock = {
    sleep: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const reflector = new Reflector<KubeObject>(
    { path: 'things', codec: objectCodec, pageSize: 2 },
    {
      clock: immediate,
      random: () => random,
      send: async (path, { signal }) => {
        const next = rest.shift();
        if (next === undefined) {
          abort.abort();
          throw new Error('aborted');
        }
        paths.push(path);
        return next(path, signal);
      },
      sink: {
        replace: (items) => {
          state.clear();
          for (const [key, item] of items) state.set(key, item);
        },
        upsert: (key, item) => void state.set(key, item),
        remove: (key) => void state.delete(key),
        connection: (failure) => failures.push(failure?.message),
      },
    },
  );
  await reflector.run(abort.signal);
  const queries = paths.map((path) => Object.fromEntries(new URLSearchParams(path.split('?')[1])));
  return { names: [...state.keys()], queries, failures, pauses, unanswered: rest.length };
}

describe('reflector', () => {
  test('lists page by page and watches from the version of the list, with bookmarks', async () => {
    const { names, queries } = await play([
      list('5', [object('a', '1'), object('b', '2')], 'next'),
      list('5', [object('c', '3')]),
      watch(event('ADDED', object('d', '6')), event('DELETED', object('a', '7'))),
    ]);
    expect(names).toEqual(['/b', '/c', '/d']);
    expect(queries[0]).toEqual({ limit: '2' });
    expect(queries[1]).toEqual({ limit: '2', continue: 'next' });
    expect(queries[2]).toMatchObject({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '5' });
  });

  test('resumes from the version of the last event or bookmark, without a list', async () => {
    const { queries } = await play([
      list('5', []),
      watch(event('ADDED', object('a', '6'))),
      watch(event('BOOKMARK', { metadata: { resourceVersion: '9' } })),
      watch(),
    ]);
    expect(queries.slice(1).map(({ resourceVersion }) => resourceVersion)).toEqual(['5', '6', '9']);
  });

  test.each([
    ['as a response', fail(410)],
    ['as an event', watch(event('ERROR', { code: 410, reason: 'Expired', message: 'too old' }))],
  ])('lists again after 410 %s, at once, and forgets what is gone', async (_, expired) => {
    const { names, pauses, failures } = await play([
      list('5', [object('a', '1')]),
      expired,
      list('8', [object('b', '7')]),
      watch(),
    ]);
    expect(names).toEqual(['/b']);
    expect(failures).not.toContain('failed with 410');
    // Only the pause after the end of the last watch.
    expect(pauses).toHaveLength(1);
  });

  test('lists without pages after its continue token expired', async () => {
    const { names, queries } = await play([
      list('5', [object('a', '1')], 'next'),
      fail(410),
      list('6', [object('a', '1'), object('b', '2'), object('c', '3')]),
    ]);
    expect(names).toEqual(['/a', '/b', '/c']);
    expect(queries[2]).toEqual({});
  });

  test('pauses longer after each failure, up to a limit, with jitter', async () => {
    const { pauses, failures } = await play(
      Array.from({ length: 8 }, () => fail(503)),
      0.5,
    );
    expect(pauses).toEqual([1200, 2400, 4800, 9600, 19_200, 38_400, 45_000, 45_000]);
    expect(new Set(failures)).toEqual(new Set(['failed with 503']));
  });

  test('pauses briefly again after an event has arrived', async () => {
    const { pauses } = await play([
      fail(503),
      fail(503),
      list('5', []),
      watch(event('BOOKMARK', { metadata: { resourceVersion: '6' } })),
      fail(503),
    ]);
    expect(pauses.slice(0, 4)).toEqual([800, 1600, 800, 1600]);
  });

  test('a cut line is no event; the next watch resumes before it', async () => {
    const cut = event('ADDED', object('a', '6')).slice(0, -5);
    const { names, queries } = await play([list('5', []), watch(cut), watch(event('ADDED', object('a', '6')))]);
    expect(names).toEqual(['/a']);
    expect(queries[2]).toMatchObject({ resourceVersion: '5' });
  });

  test('ends when the session has ended', async () => {
    const { unanswered, failures } = await play([list('5', []), fail(401), list('6', [])]);
    expect(unanswered).toBe(1);
    expect(failures).toEqual(['failed with 401']);
  });
});

describe('pool', () => {
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };

  test('components that show the same share one reflector, which stops after the last one has left', async () => {
    const clock = new StepClock();
    const signals: AbortSignal[] = [];
    const answers: Answer[] = [list('5', [object('a', '1')]), openWatch()];
    const pool = new LiveListPool({
      clock,
      random: () => 0,
      schedule: (run) => run(),
      send: async (path, { signal }) => {
        if (signal !== undefined) signals.push(signal);
        return answers[signals.length - 1]!(path, signal);
      },
    });
    const options = { path: 'things', codec: objectCodec };
    const first = pool.subscribe(options, () => undefined);
    const second = pool.subscribe(options, () => undefined);
    await settle();
    expect(pool.find(options)?.snapshot()).toMatchObject({ items: [{ metadata: { name: 'a' } }], isSynced: true });
    expect(signals).toHaveLength(2);

    first();
    await settle();
    expect(clock.sleeps).toEqual([]);
    second();
    clock.sleeps[0]?.wake();
    await settle();
    expect(pool.size).toBe(0);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });

  test('a component that comes back in time finds the list running', async () => {
    const clock = new StepClock();
    const pool = new LiveListPool({
      clock,
      random: () => 0,
      schedule: (run) => run(),
      send: async (path, { signal }) => (path.includes('watch') ? openWatch() : list('5', []))(path, signal),
    });
    const options = { path: 'things', codec: objectCodec };
    pool.subscribe(options, () => undefined)();
    pool.subscribe(options, () => undefined);
    clock.sleeps[0]?.wake();
    await settle();
    expect(pool.size).toBe(1);
  });
});
