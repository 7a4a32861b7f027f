import { once } from 'node:events';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { echo, TlsFixture } from '@multiplane/testing/serving';
import type { BaseExchange } from './base-exchange.ts';
import { ConnectionTable } from './connection-table.ts';
import { defaultHttpServerOptions } from './http-server.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

describe('limits', () => {
  test.each(['1.1', '2.0'])(
    'a body beyond the limit is 413 and the client can read it, over HTTP/%s',
    async (version) => {
      const server = await tls.answer(async (exchange) => {
        await exchange.readBody(100_000).then(
          () => exchange.respond(200, ''),
          (error: Error) => exchange.respond(413, error.message),
        );
      });
      for (const size of [100_001, 300_000, 2_000_000]) {
        const body = Buffer.alloc(size);
        const answer =
          version === '1.1'
            ? await tls.ask1(server, '/', { method: 'POST' }, body)
            : await tls.ask2(tls.session2(server), { ':path': '/', ':method': 'POST' }, body);
        expect(answer.status).toBe(413);
        expect(answer.body.toString()).toBe('Request entity too large: limit is 100000');
      }
    },
  );

  test('headers that are too long or too many', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, ''), {
      maxHeaderBytes: 8192,
      maxHeaderCount: 20,
    });
    const long = await tls.ask1(server, '/', { headers: { x: 'a'.repeat(9000) } });
    expect(long.status).toBe(431);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`x-${i}`, 'a']));
    expect((await tls.ask1(server, '/', { headers: many })).status).toBe(431);
    await expect(tls.ask2(tls.session2(server), { ':path': '/', ...many })).rejects.toThrow(
      /aborted|ECONNRESET|socket|NGHTTP2/,
    );
    expect((await tls.ask2(tls.session2(server), { ':path': '/' })).status).toBe(200);
  });

  test('headers that never end (slowloris)', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, ''), {
      headersTimeoutMs: 200,
      requestTimeoutMs: 400,
    });
    const answer = await tls.raw(server, 'GET / HTTP/1.1\r\nHost: x\r\nX: ');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body that never ends', async () => {
    const server = await tls.answer(echo, { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    const answer = await tls.raw(server, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('unauthenticated connections: the oldest silent one is closed for a newcomer, authenticated ones stay', async () => {
    const connections = new ConnectionTable({
      beforeAuthentication: 2,
      beforeAuthenticationPerSource: 2,
      perUser: 1000,
      total: 100,
    });
    const server = await tls.answer(
      (exchange) => {
        if (exchange.url === '/known') connections.markAuthenticated(exchange.socket);
        exchange.respond(200, 'ok');
      },
      {},
      connections,
    );
    const known = tls.session2(server);
    await tls.ask2(known, { ':path': '/known' });
    expect(connections.unauthenticated).toBe(0);
    const first = await tls.socket(server);
    const firstClosed = once(first, 'close');
    await tls.socket(server);
    expect(connections.unauthenticated).toBe(2);
    expect((await tls.ask1(server, '/')).status).toBe(200);
    await firstClosed;
    expect([connections.evicted, connections.rejected]).toEqual([1, 0]);
    expect((await tls.ask2(known, { ':path': '/' })).status).toBe(200);
  });

  test.each(['1.1', '2.0'])('a request in progress over HTTP/%s outlives silent newcomers', async (version) => {
    const connections = new ConnectionTable({
      beforeAuthentication: 3,
      beforeAuthenticationPerSource: 3,
      perUser: 1000,
      total: 100,
    });
    const arrived = Promise.withResolvers<void>();
    const proceed = Promise.withResolvers<void>();
    const server = await tls.answer(
      async (exchange) => {
        arrived.resolve();
        await proceed.promise;
        exchange.respond(200, 'at last');
      },
      {},
      connections,
    );
    const answer =
      version === '1.1' ? tls.ask1(server, '/') : tls.ask2(tls.session2(server), { ':path': '/', ':method': 'GET' });
    await arrived.promise;
    for (let i = 0; i < 6; i++) await tls.socket(server);
    proceed.resolve();
    expect((await answer).body.toString()).toBe('at last');
    expect(connections.evicted).toBe(4);
  });

  test('idle sessions are closed, sessions with a watch are not', async () => {
    const server = await tls.answer(
      (exchange) => {
        if (exchange.url === '/watch') exchange.start(200);
        else exchange.respond(200, '');
      },
      { idleTimeoutMs: 200 },
    );
    const watching = tls.session2(server);
    const stream = watching.request({ ':path': '/watch' });
    await once(stream, 'response');
    const idle = tls.session2(server);
    await tls.ask2(idle, { ':path': '/' });
    await once(idle, 'close');
    expect(watching.closed).toBe(false);
    stream.on('error', () => undefined);
    stream.close(constants.NGHTTP2_CANCEL);
    await once(watching, 'close');
  });

  test('many connections that open, send a request and break at the same time', async () => {
    const connections = new ConnectionTable({
      beforeAuthentication: 100,
      beforeAuthenticationPerSource: 100,
      perUser: 1000,
      total: 100,
    });
    const server = await tls.answer((exchange) => exchange.start(200), {}, connections);
    const sessions = Array.from({ length: 30 }, () => tls.session2(server));
    const answers = sessions.flatMap((session) =>
      Array.from({ length: 20 }, async () => {
        const stream = session.request({ ':path': '/watch' });
        stream.on('error', () => undefined);
        const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
        return headers[':status'];
      }),
    );
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    expect(server.inFlight).toBe(600);
    for (const session of sessions) session.destroy();
    await eventually(() => expect([server.inFlight, connections.open]).toEqual([0, 0]));
    expect((await tls.ask2(tls.session2(server), { ':path': '/', ':method': 'HEAD' })).status).toBe(200);
  });

  test('silent connections of both protocols', async () => {
    const server = await tls.answer(echo, { idleTimeoutMs: 200, headersTimeoutMs: 200 });
    for (const protocol of ['h2', 'http/1.1']) {
      const socket = await tls.socket(server, protocol);
      socket.resume();
      await once(socket, 'close');
      expect(socket.destroyed).toBe(true);
    }
    expect(server.inFlight).toBe(0);
  });

  test('immediately reset streams (rapid reset)', async () => {
    const server = await tls.answer(() => undefined, {
      session: { ...defaultHttpServerOptions.session, resets: { burst: 20, perSecond: 0 } },
    });
    const session = tls.session2(server);
    await once(session, 'connect');
    const goaway = Promise.withResolvers<number>();
    session.on('goaway', (code: number) => goaway.resolve(code));
    for (let i = 0; i < 50; i++) {
      const stream = session.request({ ':path': '/' });
      stream.on('error', () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    expect(await goaway.promise).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  test.each([100_000, 300_000])('unread responses of %i bytes, least recently read first', async (size) => {
    const server = await tls.answer((exchange) => exchange.respond(200, Buffer.alloc(size)), {
      maxOutboundBufferBytes: 3.5 * size,
    });
    // A client that reads has no buffered bytes, however many requests it sends.
    const reading = tls.session2(server);
    for (let i = 0; i < 5; i++) {
      expect((await tls.ask1(server, '/')).body).toHaveLength(size);
      expect((await tls.ask2(reading, { ':path': '/' })).body).toHaveLength(size);
    }
    const session = tls.session2(server);
    await once(session, 'connect');
    const windows = (initialWindowSize: number): Promise<void> =>
      new Promise((resolve) => session.settings({ initialWindowSize }, () => resolve()));
    await windows(0);
    const ask = async () => {
      const stream = session.request({ ':path': '/' });
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
      const ended = new Promise<number | string>((resolve) => {
        stream.on('error', () => resolve('cut off'));
        stream.on('end', () => resolve(bytes));
      });
      await once(stream, 'response');
      return { ended };
    };
    const first = await ask();
    const others = [await ask(), await ask(), await ask()];
    expect(await first.ended).toBe('cut off');
    await windows(1_000_000);
    expect(await Promise.all(others.map(({ ended }) => ended))).toEqual([size, size, size]);
  });

  test('pings without end', async () => {
    const server = await tls.answer(() => undefined, {
      session: { ...defaultHttpServerOptions.session, pings: { burst: 5, perSecond: 0 } },
    });
    const session = tls.session2(server);
    await once(session, 'connect');
    const goaway = Promise.withResolvers<number>();
    session.on('goaway', (code: number) => goaway.resolve(code));
    for (let i = 0; i < 8; i++) session.ping(() => undefined);
    expect(await goaway.promise).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

describe('request smuggling: one interpretation of a request or none', () => {
  const handled: string[] = [];
  const record = async (exchange: BaseExchange): Promise<void> => {
    handled.push(`${exchange.method} ${exchange.url}`);
    await echo(exchange);
  };
  test.each([
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    [
      'an unknown encoding',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: x\n\nGET /smuggled HTTP/1.1\nHost: x\n\n'],
    [
      'folded headers',
      'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    [
      'a bad chunk extension',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    [
      'a blank before the colon',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n',
    ],
    ['NUL in the path', 'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('%s', async (_what, text) => {
    handled.length = 0;
    const server = await tls.answer(record, { idleTimeoutMs: 300 });
    const answer = await tls.raw(server, text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(handled.filter((request) => request.includes('smuggled'))).toEqual([]);
  });
});
