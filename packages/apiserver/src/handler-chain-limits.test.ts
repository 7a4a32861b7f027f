import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { TlsFixture } from '@multiplane/testing/serving';
import { ServerStoppingError } from '@multiplane/generic-server';
import { admin, alice, ChainSetup, statusOf } from '../test/chain-setup.ts';
import { FakeClock, eventually } from '@multiplane/testing';

let tls: TlsFixture;
let setup: ChainSetup;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
beforeEach(() => {
  setup = new ChainSetup(tls);
});
afterEach(() => tls.cleanUp());

describe('deadlines', () => {
  test('an invalid timeout is rejected before authentication', async () => {
    const server = await setup.serve();
    const ask = async (timeout: string): Promise<string> =>
      statusOf(await tls.ask1(server, `/nope?timeout=${timeout}`, { headers: { authorization: 'Bearer wrong' } }))
        .message;
    expect(await ask('x')).toBe('invalid timeout specified in the request URL - time: invalid duration "x"');
    expect(await ask('5')).toBe('invalid timeout specified in the request URL - time: missing unit in duration "5"');
    expect(await ask('5q')).toBe(
      'invalid timeout specified in the request URL - time: unknown unit "q" in duration "5q"',
    );
    expect(await ask('-1s')).toBe('Unauthorized');
  });

  test('a handler can respond to the deadline itself', async () => {
    const clock = new FakeClock();
    setup.resources = (context) =>
      new Promise((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
        void clock.advance(2000);
      });
    const server = await setup.serve({}, clock);
    const answer = await tls.ask1(server, '/clusters/root/api/v1/configmaps?timeout=2s', { headers: admin });
    expect(statusOf(answer)).toMatchObject({
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
    });
  });

  test('the chain responds for a handler that ignores the deadline', async () => {
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    setup.resources = async (context) => {
      void clock.advance(60_000).then(() => clock.advance(1000));
      await gate.promise;
      context.exchange.respond(200, 'late');
    };
    const server = await setup.serve({}, clock);
    const answer = await tls.ask1(server, '/clusters/root/api/v1/configmaps', { headers: admin });
    gate.resolve();
    expect(statusOf(answer)).toMatchObject({
      code: 504,
      message: 'Timeout: request did not complete within the allotted timeout',
    });
  });

  test('a watch has no deadline, but ends with the server', async () => {
    const clock = new FakeClock();
    const seen: unknown[] = [];
    setup.resources = async (context) => {
      const ended = once(context.signal, 'abort');
      context.exchange.start(200);
      await clock.advance(120_000);
      seen.push(context.signal.aborted);
      setup.draining.begin();
      await ended;
      seen.push(context.signal.reason);
      context.exchange.end();
    };
    const server = await setup.serve({}, clock);
    const answer = await tls.ask1(server, '/clusters/root/api/v1/configmaps?watch=1', { headers: admin });
    expect(answer.status).toBe(200);
    expect(seen).toEqual([false, expect.any(ServerStoppingError)]);
  });

  test('a draining server rejects requests, but serves health checks', async () => {
    const server = await setup.serve();
    setup.draining.begin();
    const answer = await tls.ask1(server, '/clusters/root/api/v1/configmaps', { headers: admin });
    expect(answer.status).toBe(429);
    expect(answer.headers).toMatchObject({ 'retry-after': '5', connection: 'close' });
    expect(answer.body.toString()).toBe('The apiserver is shutting down, please try again later.\n');
    expect((await tls.ask1(server, '/livez')).status).toBe(200);
  });
});

describe('requests in flight', () => {
  /** Waits until so many requests have reached the handler. */
  const handled = (count: number): Promise<void> =>
    // oxlint-disable-next-line tests/no-real-time-with-fake-clock -- requests come over sockets
    eventually(() => expect(setup.handled.length).toBe(count));
  const path = '/clusters/root/api/v1/namespaces/d/configmaps';

  test('are limited, except system:masters and watches; the others wait for a seat, then get 429', async () => {
    setup.allowed = () => true;
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    setup.resources = async (context) => {
      if (context.info.verb !== 'list' || context.user.name === 'admin') {
        context.exchange.respond(200, 'at once');
        return;
      }
      await gate.promise;
      context.exchange.respond(200, 'ok');
    };
    const server = await setup.serve({ maxReadOnly: 1, maxMutating: 1, requestTimeoutMs: 60_000 }, clock);
    const running = [1, 2].map(() => tls.ask1(server, path, { headers: alice }));
    await handled(2);
    for (const [headers, target] of [
      [admin, path],
      [alice, '/livez'],
    ] as const)
      expect((await tls.ask1(server, target, { headers })).status).toBe(200);
    const waiting = tls.ask1(server, path, { headers: alice });
    const settled = { done: false };
    void waiting.finally(() => (settled.done = true));
    while (!settled.done) await clock.advance(1_000);
    const answer = await waiting;
    expect([answer.status, answer.headers['retry-after'], answer.body.toString()]).toEqual([
      429,
      '1',
      'Too many requests, please try again later.\n',
    ]);
    const last = tls.ask1(server, path, { headers: alice });
    gate.resolve();
    for (const each of await Promise.all([...running, last])) expect(each.status).toBe(200);
  });

  test('count from the moment their body is read', async () => {
    setup.allowed = () => true;
    setup.resources = async (context) => {
      context.exchange.respond(200, await context.exchange.readBody(1000));
    };
    const server = await setup.serve({ maxReadOnly: 1, maxMutating: 1 });
    const stalled = Array.from({ length: 20 }, () =>
      connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }, function send(this: TLSSocket) {
        this.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer alice\r\ncontent-length: 5\r\n\r\n`);
      }),
    );
    await handled(20);
    const answer = await tls.ask1(server, path, { headers: alice, method: 'POST' }, 'hello');
    expect([answer.status, answer.body.toString()]).toEqual([200, 'hello']);
    for (const socket of stalled) socket.destroy();
  });
});
