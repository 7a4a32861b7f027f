import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { FakeClock, systemClock, type Clock } from '@multiplane/component-base';
import { eventually } from '@multiplane/testing';
import { ScriptedServer } from '../conformance/index.ts';
import type { ObjectReference } from '../lister.ts';
import { RestTransport } from '../rest-transport.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

const one = 'one' as LogicalClusterName;
const named = (name: string): ObjectReference => ({ cluster: one, namespace: 'n', name });

describe('reflector', () => {
  let server: ScriptedServer;
  let transport: RestTransport;
  let abort: AbortController;
  let told: string[];
  let failures: { error: Error; pauseMs: number }[];
  let running: Promise<void>;
  beforeEach(async () => {
    server = await ScriptedServer.start();
    transport = new RestTransport({ config: { server: server.url } });
    abort = new AbortController();
    told = [];
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
          replacing: () => void told.push('replacing'),
          put: ({ kind, apiVersion }, { name }) => void told.push(`put ${apiVersion} ${kind} ${name}`),
          removed: (_object, { name }) => void told.push(`removed ${name}`),
          replaced: () => void told.push('replaced'),
        },
      },
    );
    running = reflector.run(abort.signal);
    return reflector;
  }
  const watching = (): Promise<void> => eventually(() => expect(server.watchers).toBe(1));

  test('tells a complete state, then every change, on one request', async () => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.put(named('b'));
    server.remove(named('a'));
    await eventually(() => expect(told.at(-1)).toBe('removed a'));
    expect(told).toEqual(['replacing', 'put v1 ConfigMap a', 'replaced', 'put v1 ConfigMap b', 'removed a']);
    expect(server.requests.length).toBe(1);
  });

  test('lists page by page where the server knows no initial events; items learn what they are', async () => {
    server.watchList = false;
    for (const name of ['a', 'b', 'c']) server.put(named(name));
    await begin({ pageSize: 2 }).synced;
    await watching();
    expect(told).toEqual(['replacing', 'put v1 ConfigMap a', 'put v1 ConfigMap b', 'put v1 ConfigMap c', 'replaced']);
    expect(server.requests.filter((request) => !request.includes('watch')).length).toBe(2);
  });

  test('a list whose pages expire is begun anew, all at once', async () => {
    server.watchList = false;
    server.expireToken = true;
    for (const name of ['a', 'b', 'c']) server.put(named(name));
    await begin({ pageSize: 2 }).synced;
    expect(told.filter((text) => text === 'replacing').length).toBe(2);
    expect(told.slice(-4)).toEqual(['put v1 ConfigMap a', 'put v1 ConfigMap b', 'put v1 ConfigMap c', 'replaced']);
    expect(server.requests.filter((request) => !request.includes('watch')).at(-1)).not.toContain('limit');
  });

  test('goes on where it was when a stream ends or is cut', async () => {
    await begin().synced;
    await watching();
    server.put(named('a'));
    await eventually(() => expect(told.at(-1)).toBe('put v1 ConfigMap a'));
    server.endWatches();
    server.put(named('b'));
    await eventually(() => expect(told.at(-1)).toBe('put v1 ConfigMap b'));
    await watching();
    server.cut();
    server.put(named('c'));
    await eventually(() => expect(told.at(-1)).toBe('put v1 ConfigMap c'));
    expect(told.filter((text) => text === 'replacing').length).toBe(1);
    expect(server.requests.at(-1)).toContain('resourceVersion=102');
  });

  test('a bookmark moves the version on, so that a quiet watch never falls out of the history', async () => {
    await begin().synced;
    await watching();
    server.inject('{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"150"}}}\n');
    server.endWatches();
    await eventually(() => expect(server.requests.at(-1)).toContain('resourceVersion=150'));
  });

  test('begins anew when the server forgot the version', async () => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.failWith = 503;
    server.cut();
    server.remove(named('a'));
    server.put(named('b'));
    server.compact();
    server.failWith = undefined;
    await eventually(() => expect(told.slice(-3)).toEqual(['replacing', 'put v1 ConfigMap b', 'replaced']));
  });

  test('begins anew without the long pause of an outage when the server is back and forgot the version', async () => {
    server.put(named('a'));
    await begin({ minPauseMs: 1, maxPauseMs: 1000 }).synced;
    await watching();
    server.failWith = 503;
    server.cut();
    await eventually(() => expect(failures.length).toBeGreaterThan(5));
    server.put(named('b'));
    server.compact();
    server.failWith = undefined;
    await eventually(() => expect(told.filter((text) => text === 'replaced').length).toBe(2));
    expect(failures.at(-1)).toMatchObject({ error: { code: 410 }, pauseMs: 1 });
  });

  test.each([
    ['not JSON', '{"type":"ADDED",\n'],
    ['no event', '[1]\n'],
    ['an unknown type', '{"type":"RENAMED","object":{"metadata":{"resourceVersion":"9"}}}\n'],
    ['no version', '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'],
    ['no logical cluster', '{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"9"}}}\n'],
  ])('a bad frame is told, ends the stream and begins anew: %s', async (_what, frame) => {
    server.put(named('a'));
    await begin().synced;
    await watching();
    server.inject(frame);
    await eventually(() =>
      expect(told).toEqual([
        'replacing',
        'put v1 ConfigMap a',
        'replaced',
        'replacing',
        'put v1 ConfigMap a',
        'replaced',
      ]),
    );
    expect(failures.map(({ error }) => error.name)).toEqual(['BadFrameError']);
  });

  test('a stream that ends before the state is complete does not make it complete', async () => {
    server.watchList = true;
    server.failWith = 503;
    const reflector = begin();
    await eventually(() => expect(failures.length).toBeGreaterThan(2));
    expect(told).toEqual([]);
    expect(reflector.failure?.message).toBe('scripted failure');
    server.failWith = undefined;
    await reflector.synced;
    expect(told).toEqual(['replacing', 'replaced']);
  });

  test('pauses longer with each failure in a row, up to a limit, and starts small again after a success', async () => {
    const clock = new FakeClock();
    server.failWith = 503;
    begin({ minPauseMs: 100, maxPauseMs: 400 }, clock);
    for (let tries = 1; tries <= 4; tries++) {
      await eventually(() => expect(failures.length).toBe(tries));
      if (tries === 4) server.failWith = undefined;
      await clock.advance(400);
    }
    expect(failures.map(({ pauseMs }) => pauseMs)).toEqual([100, 200, 400, 400]);
    await watching();
    await eventually(() => expect(told.at(-1)).toBe('replaced'));
    server.failWith = 503;
    server.cut();
    await eventually(() => expect(failures.at(-1)?.pauseMs).toBe(100));
  });

  test('gives up a stream on which nothing comes any more', async () => {
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

  test('what its sink throws ends it', async () => {
    server.put(named('a'));
    const fault = new Error('index broken');
    const reflector = new Reflector(
      { resource: { group: '', version: 'v1', resource: 'configmaps' } },
      {
        transport,
        clock: systemClock,
        onFailure: ({ message }) => void told.push(message),
        sink: {
          replacing: () => {},
          put: () => {
            throw fault;
          },
          removed: () => {},
          replaced: () => {},
        },
      },
    );
    await expect(reflector.run(abort.signal)).rejects.toBe(fault);
    expect(told).toEqual([]);
  });
});
