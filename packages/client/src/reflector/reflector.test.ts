// oxlint-disable tests/no-real-time-with-fake-clock -- lists and watches come over sockets
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { systemClock, type Clock } from '@multiplane/component-base';
import { FakeClock, eventually } from '@multiplane/testing';
import { ScriptedServer } from '../../test/conformance/index.ts';
import type { ObjectReference } from '../lister.ts';
import { RestTransport } from '../rest-transport.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

const one = 'one' as LogicalClusterName;
const named = (name: string): ObjectReference => ({ cluster: one, namespace: 'n', name });

describe('reflector', () => {
  let server: ScriptedServer;
  let transport: RestTransport;
  let abort: AbortController;
  let events: string[];
  let failures: { error: Error; pauseMs: number }[];
  let running: Promise<void>;
  beforeEach(async () => {
    server = await ScriptedServer.start();
    transport = new RestTransport({ config: { server: server.url } });
    abort = new AbortController();
    events = [];
    failures = [];
    running = Promise.resolve();
  });
  afterEach(async () => {
    abort.abort();
    await running;
    transport.close();
    await server.close();
  });

  function begin(options: Partial<ReflectorOptions> = {}, clock: Clock = systemClock): Reflector {
    const reflector = new Reflector(
      { resource: { group: '', version: 'v1', resource: 'configmaps' }, minPauseMs: 1, maxPauseMs: 4, ...options },
      {
        transport,
        clock,
        random: () => 0.5,
        onFailure: (error, { pauseMs }) => void failures.push({ error, pauseMs }),
        sink: {
          beginReplace: () => void events.push('beginReplace'),
          upsert: ({ kind, apiVersion }, { name }) => void events.push(`upsert ${apiVersion} ${kind} ${name}`),
          remove: (_object, { name }) => void events.push(`remove ${name}`),
          endReplace: () => void events.push('endReplace'),
        },
      },
    );
    running = reflector.run(abort.signal);
    return reflector;
  }
  const watching = (): Promise<void> => eventually(() => expect(server.watchers).toBe(1));

  test('delivers the list, then every change, with one request', async () => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.put(named('b'));
    server.remove(named('a'));
    await eventually(() => expect(events.at(-1)).toBe('remove a'));
    expect(events).toEqual([
      'beginReplace',
      'upsert v1 ConfigMap a',
      'endReplace',
      'upsert v1 ConfigMap b',
      'remove a',
    ]);
    expect(server.requests.length).toBe(1);
  });

  test('falls back to a paged list, and sets kind and apiVersion of items', async () => {
    server.watchList = false;
    for (const name of ['a', 'b', 'c']) server.put(named(name));
    await begin({ pageSize: 2 }).synced;
    await watching();
    expect(events).toEqual([
      'beginReplace',
      'upsert v1 ConfigMap a',
      'upsert v1 ConfigMap b',
      'upsert v1 ConfigMap c',
      'endReplace',
    ]);
    expect(server.requests.filter((request) => !request.includes('watch')).length).toBe(2);
  });

  test('repeats a list without paging when its continue token expires', async () => {
    server.watchList = false;
    server.expireToken = true;
    for (const name of ['a', 'b', 'c']) server.put(named(name));
    await begin({ pageSize: 2 }).synced;
    expect(events.filter((text) => text === 'beginReplace').length).toBe(2);
    expect(events.slice(-4)).toEqual([
      'upsert v1 ConfigMap a',
      'upsert v1 ConfigMap b',
      'upsert v1 ConfigMap c',
      'endReplace',
    ]);
    expect(server.requests.filter((request) => !request.includes('watch')).at(-1)).not.toContain('limit');
  });

  test('resumes the watch when a stream ends or the connection breaks', async () => {
    await begin().synced;
    await watching();
    server.put(named('a'));
    await eventually(() => expect(events.at(-1)).toBe('upsert v1 ConfigMap a'));
    server.endWatches();
    server.put(named('b'));
    await eventually(() => expect(events.at(-1)).toBe('upsert v1 ConfigMap b'));
    await watching();
    server.cut();
    server.put(named('c'));
    await eventually(() => expect(events.at(-1)).toBe('upsert v1 ConfigMap c'));
    expect(events.filter((text) => text === 'beginReplace').length).toBe(1);
    expect(server.requests.at(-1)).toContain('resourceVersion=102');
  });

  test('advances its version with bookmarks, so that the version of an idle watch does not expire', async () => {
    await begin().synced;
    await watching();
    server.inject('{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"150"}}}\n');
    server.endWatches();
    await eventually(() => expect(server.requests.at(-1)).toContain('resourceVersion=150'));
  });

  test('lists again when its version has expired', async () => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.failWith = 503;
    server.cut();
    server.remove(named('a'));
    server.put(named('b'));
    server.compact();
    server.failWith = undefined;
    await eventually(() => expect(events.slice(-3)).toEqual(['beginReplace', 'upsert v1 ConfigMap b', 'endReplace']));
  });

  test('lists again without the long pause of an outage when its version expired meanwhile', async () => {
    server.put(named('a'));
    await begin({ minPauseMs: 1, maxPauseMs: 1000 }).synced;
    await watching();
    server.failWith = 503;
    server.cut();
    await eventually(() => expect(failures.length).toBeGreaterThan(5));
    server.put(named('b'));
    server.compact();
    server.failWith = undefined;
    await eventually(() => expect(events.filter((text) => text === 'endReplace').length).toBe(2));
    expect(failures.at(-1)).toMatchObject({ error: { code: 410 }, pauseMs: 1 });
  });

  test.each([
    ['not JSON', '{"type":"ADDED",\n'],
    ['no event', '[1]\n'],
    ['an unknown type', '{"type":"RENAMED","object":{"metadata":{"resourceVersion":"9"}}}\n'],
    ['no version', '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'],
    ['no logical cluster', '{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"9"}}}\n'],
  ])('a bad frame is events, ends the stream and begins anew: %s', async (_what, frame) => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.inject(frame);
    await eventually(() =>
      expect(events).toEqual([
        'beginReplace',
        'upsert v1 ConfigMap a',
        'endReplace',
        'beginReplace',
        'upsert v1 ConfigMap a',
        'endReplace',
      ]),
    );
    expect(failures.map(({ error }) => error.name)).toEqual(['BadFrameError']);
  });

  test('does not sync with a stream that ends before the initial events are complete', async () => {
    server.watchList = true;
    server.failWith = 503;
    const reflector = begin();
    await eventually(() => expect(failures.length).toBeGreaterThan(2));
    expect(events).toEqual([]);
    expect(reflector.failure?.message).toBe('scripted failure');
    server.failWith = undefined;
    await reflector.synced;
    expect(events).toEqual(['beginReplace', 'endReplace']);
  });

  test('backs off with each consecutive failure, up to a maximum, and resets after a success', async () => {
    const clock = new FakeClock();
    server.failWith = 503;
    begin({ minPauseMs: 100, maxPauseMs: 400 }, clock);
    for (let tries = 1; tries <= 4; tries++) {
      await eventually(() => expect(failures.length).toBe(tries));
      if (tries === 4) server.failWith = undefined;
      // Not longer: the response comes in real time, and the next pause must not begin before it is awaited.
      await clock.advance(failures.at(-1)?.pauseMs ?? 0);
    }
    expect(failures.map(({ pauseMs }) => pauseMs)).toEqual([100, 200, 400, 400]);
    await watching();
    await eventually(() => expect(events.at(-1)).toBe('endReplace'));
    server.failWith = 503;
    server.cut();
    await eventually(() => expect(failures.at(-1)?.pauseMs).toBe(100));
  });

  test('closes an idle stream', async () => {
    const clock = new FakeClock();
    await begin({ idleMs: 1000 }, clock).synced;
    await watching();
    await clock.advance(999);
    expect(failures).toEqual([]);
    await clock.advance(1);
    await eventually(() => expect(failures.map(({ error }) => error.name)).toEqual(['IdleError']));
    await clock.advance(10);
    await eventually(() => expect(server.requests.length).toBe(2));
  });

  test('ends with the exception of its sink', async () => {
    server.put(named('a'));
    const fault = new Error('index broken');
    const reflector = new Reflector(
      { resource: { group: '', version: 'v1', resource: 'configmaps' } },
      {
        transport,
        clock: systemClock,
        onFailure: ({ message }) => void events.push(message),
        sink: {
          beginReplace: () => {},
          upsert: () => {
            throw fault;
          },
          remove: () => {},
          endReplace: () => {},
        },
      },
    );
    await expect(reflector.run(abort.signal)).rejects.toBe(fault);
    expect(events).toEqual([]);
  });
});
