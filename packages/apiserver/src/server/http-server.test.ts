import { once } from 'node:events';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { Agent } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { eventually } from '@multiplane/testing';
import { ChunkedBody } from '../endpoints/chunked-body.ts';
import { TlsFixture } from '../test-support/tls-fixture.ts';
import { ClientGoneError, type BaseExchange } from './base-exchange.ts';
import { ConnectionTable } from './connection-table.ts';
import { GzipExchange } from './gzip-exchange.ts';
import { defaultHttpServerOptions, type HttpServer, type HttpServerOptions } from './http-server.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

type Handle = (exchange: BaseExchange) => Promise<void> | void;

function serve(
  handle: Handle,
  options?: Partial<HttpServerOptions>,
  connections?: ConnectionTable,
): Promise<HttpServer> {
  return tls.serve(
    async (exchange) => {
      try {
        await handle(exchange);
      } catch (error) {
        // Clients of these tests go away in the middle of a body; anything else must be seen.
        expect(error).toBeInstanceOf(ClientGoneError);
      }
    },
    options,
    connections,
  );
}

const echo: Handle = async (exchange) => {
  const body = await exchange.readBody(1000);
  exchange.setHeader('content-type', 'text/plain');
  exchange.respond(200, `${exchange.httpVersion} ${exchange.method} ${exchange.url} ${body.toString()}`);
};

describe('both protocols on one port', () => {
  test('a long answer arrives whole, and others are served while it is sent', async () => {
    const long = Buffer.alloc(8 * 1024 * 1024 + 5, 'abcdefghijk');
    let turns = 0;
    const server = await serve((exchange) => {
      exchange.respond(200, long);
      const turn = (): void => {
        turns++;
        if (exchange.buffered > 0) setImmediate(turn);
      };
      setImmediate(turn);
    });
    const first = await tls.ask1(server, '/long');
    expect(first.headers['content-length']).toBe(String(long.length));
    expect(first.body.equals(long)).toBe(true);
    const second = await tls.ask2(tls.session2(server), { ':path': '/long' });
    expect(second.headers['content-length']).toBe(String(long.length));
    expect(second.body.equals(long)).toBe(true);
    expect(turns).toBeGreaterThan(4);
  });

  test('HTTP/1.1', async () => {
    const server = await serve(echo);
    const answer = await tls.ask1(server, '/a?b=c', { method: 'POST' }, Buffer.from('hello'));
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe('1.1 POST /a?b=c hello');
    expect(answer.headers['content-length']).toBe('21');
  });

  test('HTTP/2', async () => {
    const server = await serve(echo);
    const answer = await tls.ask2(tls.session2(server), { ':path': '/a?b=c', ':method': 'PUT' }, Buffer.from('hello'));
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe('2.0 PUT /a?b=c hello');
    expect(answer.headers['content-type']).toBe('text/plain');
  });

  test('repeated headers stay apart, and the host is known', async () => {
    const seen: unknown[] = [];
    const server = await serve((exchange) => {
      seen.push(exchange.headers['x-remote-group'], exchange.headers['host']);
      expect(Object.keys(exchange.headers).filter((name) => name.startsWith(':'))).toEqual([]);
      exchange.respond(200, '');
    });
    await tls.ask1(server, '/', { headers: { 'x-remote-group': ['a', 'b, c'] } });
    await tls.ask2(tls.session2(server), { ':path': '/', 'x-remote-group': ['a', 'b, c'] });
    const host = `127.0.0.1:${server.port}`;
    expect(seen).toEqual([['a', 'b, c'], host, ['a', 'b, c'], host]);
  });

  test('the answer to HEAD has a length and no body', async () => {
    const server = await serve((exchange) => exchange.respond(200, 'text'));
    const first = await tls.ask1(server, '/', { method: 'HEAD' });
    const second = await tls.ask2(tls.session2(server), { ':path': '/', ':method': 'HEAD' });
    for (const answer of [first, second]) {
      expect(answer.headers['content-length']).toBe('4');
      expect(answer.body).toHaveLength(0);
    }
  });

  test('the certificate of the client is within reach', async () => {
    const server = await serve((exchange) => {
      exchange.respond(200, exchange.socket.getPeerX509Certificate()?.subject.replaceAll('\n', ',') ?? 'none');
    });
    const identity = { cert: tls.client.certificatePem, key: tls.client.privateKeyPem };
    expect((await tls.ask1(server, '/', identity)).body.toString()).toBe('O=team,CN=alice');
    expect((await tls.ask1(server, '/')).body.toString()).toBe('none');
    expect((await tls.ask2(tls.session2(server, tls.client), { ':path': '/' })).body.toString()).toBe(
      'O=team,CN=alice',
    );
  });

  test('a certificate of an unknown authority does not break the handshake', async () => {
    const stranger = await CertificateAuthority.create({ commonName: 'stranger' });
    const mallory = await stranger.issueClient({ user: 'mallory' });
    const server = await serve((exchange) => exchange.respond(401, String(exchange.socket.authorized)));
    const answer = await tls.ask1(server, '/', { cert: mallory.certificatePem, key: mallory.privateKeyPem });
    expect([answer.status, answer.body.toString()]).toEqual([401, 'false']);
  });

  test('a new serving certificate is used for new connections', async () => {
    const server = await serve((exchange) => exchange.respond(200, 'ok'));
    const renewed = await tls.authority.issueServer({ commonName: 'renewed', ipAddresses: ['127.0.0.1'] });
    const commonName = async (): Promise<string> => {
      const socket = await tls.socket(server);
      return String(socket.getPeerCertificate().subject.CN);
    };
    expect(await commonName()).toBe('localhost');
    server.reloadCertificate(renewed);
    expect(await commonName()).toBe('renewed');
  });
});

describe('streams', () => {
  test('that are written at the same time keep their bytes apart, though they share memory', async () => {
    const size = 3 * 1024 * 1024;
    const server = await serve(async (exchange) => {
      const letter = exchange.url.slice(1);
      const body = new ChunkedBody(exchange, 200, exchange.signal);
      for (let sent = 0; sent < size; sent += 1024) {
        body.pushString(letter.repeat(1024));
        if (body.shouldPause) await body.checkpoint();
      }
      body.end();
    });
    const session = tls.session2(server);
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        ['a', 'b', 'c', 'd'].flatMap((letter) => [
          tls.ask1(server, `/${letter}`),
          tls.ask2(session, { ':path': `/${letter}` }),
        ]),
      );
      for (const [index, { body }] of answers.entries()) {
        expect(body.equals(Buffer.alloc(size, 'abcd'[index >> 1]))).toBe(true);
      }
    }
  });

  const total = 8 * 1024 * 1024;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const stream: Handle = async (exchange) => {
    exchange.start(200);
    let waited = 0;
    for (let sent = 0; sent < total; sent += chunk.length) {
      if (!exchange.write(chunk)) {
        waited++;
        await exchange.drained();
        expect(exchange.buffered).toBeLessThan(2 * chunk.length);
      }
    }
    expect(waited).toBeGreaterThan(0);
    exchange.end();
  };

  test('wait for the client', async () => {
    const server = await serve(stream);
    expect((await tls.ask1(server, '/')).body).toHaveLength(total);
    expect((await tls.ask2(tls.session2(server), { ':path': '/' })).body).toHaveLength(total);
  });

  test('send their headers at once', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await serve(async (exchange) => {
      exchange.start(200);
      await gate.promise;
      exchange.end();
    });
    const session = tls.session2(server);
    const answer = session.request({ ':path': '/' });
    const [headers] = (await once(answer, 'response')) as [IncomingHttpHeaders];
    expect(headers[':status']).toBe(200);
    answer.close();
    gate.resolve();
  });

  test.each(['1.1', '2.0'])('tell that the client is gone, over HTTP/%s', async (version) => {
    const aborted = Promise.withResolvers<boolean>();
    const started = Promise.withResolvers<void>();
    const server = await serve(async (exchange) => {
      exchange.start(200);
      exchange.write(Buffer.from('x'));
      exchange.signal.addEventListener('abort', () => aborted.resolve(exchange.signal.aborted));
      started.resolve();
      await exchange.drained();
    });
    if (version === '1.1') {
      const socket = await tls.socket(server);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(socket, 'data');
      await started.promise;
      socket.destroy();
    } else {
      const answer = tls.session2(server).request({ ':path': '/' });
      await once(answer, 'data');
      answer.close(constants.NGHTTP2_CANCEL);
    }
    expect(await aborted.promise).toBe(true);
  });

  test.each(['1.1', '2.0'])('a complete answer never aborts, over HTTP/%s', async (version) => {
    const closed = Promise.withResolvers<boolean>();
    const server = await serve((exchange) => {
      const { signal } = exchange;
      exchange.respond(200, 'ok');
      void exchange.drained();
      exchange.socket.on('close', () => closed.resolve(signal.aborted));
    });
    if (version === '1.1') {
      await tls.ask1(server, '/');
    } else {
      const session = tls.session2(server);
      await tls.ask2(session, { ':path': '/' });
      session.destroy();
    }
    expect(await closed.promise).toBe(false);
  });

  test('a header that cannot be written ends the request, not the wait', async () => {
    const failures: string[] = [];
    const server = await tls.serve((exchange) => {
      exchange.setHeader('x', 'a\nb');
      try {
        exchange.respond(200, '');
      } catch (error) {
        failures.push((error as Error).message);
      }
      return Promise.resolve();
    });
    await expect(tls.ask1(server, '/')).rejects.toThrow('socket hang up');
    await tls.ask2(tls.session2(server), { ':path': '/' }).catch((error: unknown) => failures.push(String(error)));
    expect(failures.join()).toMatch(/Invalid character in header content/);
  });

  test('an answer that is cut off looks like it', async () => {
    const server = await serve((exchange) => {
      exchange.start(200);
      exchange.write(Buffer.from('half'));
      exchange.destroy();
    });
    await expect(tls.ask1(server, '/')).rejects.toThrow(/aborted|ECONNRESET|socket|NGHTTP2/);
    await expect(tls.ask2(tls.session2(server), { ':path': '/' })).rejects.toThrow(/aborted|ECONNRESET|socket|NGHTTP2/);
  });
});

describe('gzip', () => {
  const big = Buffer.alloc(200_000, 'abc');
  test.each([
    ['whole', (exchange: GzipExchange): void => exchange.respond(200, big)],
    [
      'streamed',
      (exchange: GzipExchange): void => {
        exchange.start(200);
        for (let at = 0; at < big.length; at += 50_000) exchange.write(big.subarray(at, at + 50_000));
        exchange.end();
      },
    ],
  ])('long answers are compressed: %s', async (_how, answerWith) => {
    const server = await serve((exchange) => answerWith(new GzipExchange(exchange)));
    const answer = await tls.ask1(server, '/');
    expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(answer.body.length).toBeLessThan(big.length / 10);
    expect(gunzipSync(answer.body).equals(big)).toBe(true);
  });

  test('what an answer depends on besides stays told', async () => {
    const server = await serve((raw) => {
      const exchange = new GzipExchange(raw);
      exchange.setHeader('vary', 'Accept');
      exchange.respond(200, big);
    });
    expect((await tls.ask1(server, '/')).headers.vary).toBe('Accept, Accept-Encoding');
  });

  test('short ones are not', async () => {
    const server = await serve((raw) => {
      const exchange = new GzipExchange(raw);
      exchange.start(200);
      exchange.write(Buffer.from('short'));
      exchange.end();
    });
    const answer = await tls.ask1(server, '/');
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers['content-length']).toBe('5');
    expect(answer.body.toString()).toBe('short');
  });
});

describe('limits', () => {
  test.each(['1.1', '2.0'])(
    'a body beyond the limit is 413 and the client can read it, over HTTP/%s',
    async (version) => {
      const server = await serve(async (exchange) => {
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
    const server = await serve((exchange) => exchange.respond(200, ''), { maxHeaderBytes: 8192, maxHeaderCount: 20 });
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
    const server = await serve((exchange) => exchange.respond(200, ''), {
      headersTimeoutMs: 200,
      requestTimeoutMs: 400,
    });
    const answer = await tls.raw(server, 'GET / HTTP/1.1\r\nHost: x\r\nX: ');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body that never ends', async () => {
    const server = await serve(echo, { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    const answer = await tls.raw(server, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('connections of strangers, while known ones go on', async () => {
    const connections = new ConnectionTable({ beforeAuthentication: 2, total: 100 });
    const server = await serve(
      (exchange) => {
        if (exchange.url === '/known') connections.authenticated(exchange.socket);
        exchange.respond(200, 'ok');
      },
      {},
      connections,
    );
    const known = tls.session2(server);
    await tls.ask2(known, { ':path': '/known' });
    const strangers = [await tls.socket(server), await tls.socket(server)];
    await expect(tls.ask1(server, '/')).rejects.toThrow(/aborted|ECONNRESET|socket|NGHTTP2/);
    expect(connections.refused).toBe(1);
    expect((await tls.ask2(known, { ':path': '/' })).status).toBe(200);
    strangers[0]!.destroy();
    await once(strangers[0]!, 'close');
    strangers[1]!.destroy();
    await once(strangers[1]!, 'close');
    while (connections.strangers > 0) await new Promise(setImmediate);
    expect((await tls.ask1(server, '/')).status).toBe(200);
  });

  test('sessions without requests are closed, those with a watch are not', async () => {
    const server = await serve(
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

  test('many connections that come, ask and break all at once', async () => {
    const connections = new ConnectionTable({ beforeAuthentication: 100, total: 100 });
    const server = await serve((exchange) => exchange.start(200), {}, connections);
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

  test('connections on which nothing is ever said, of both protocols', async () => {
    const server = await serve(echo, { idleTimeoutMs: 200, headersTimeoutMs: 200 });
    for (const protocol of ['h2', 'http/1.1']) {
      const socket = await tls.socket(server, protocol);
      socket.resume();
      await once(socket, 'close');
      expect(socket.destroyed).toBe(true);
    }
    expect(server.inFlight).toBe(0);
  });

  test('streams that are reset at once (rapid reset)', async () => {
    const server = await serve(() => undefined, {
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

  test('pings without end', async () => {
    const server = await serve(() => undefined, {
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

describe('smuggling: one reading of a request or none', () => {
  const handled: string[] = [];
  const record: Handle = async (exchange) => {
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
      'an encoding nobody knows',
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
    const server = await serve(record, { idleTimeoutMs: 300 });
    const answer = await tls.raw(server, text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(handled.filter((request) => request.includes('smuggled'))).toEqual([]);
  });
});

describe('stopping', () => {
  test('running requests finish, connections close, new ones are refused', async () => {
    const gate = Promise.withResolvers<void>();
    const arrived: (() => void)[] = [];
    const server = await serve(
      async (exchange) => {
        arrived.shift()?.();
        await gate.promise;
        exchange.respond(200, 'finished');
      },
      { stopGraceMs: 10_000 },
    );
    const both = Promise.all([new Promise<void>((r) => arrived.push(r)), new Promise<void>((r) => arrived.push(r))]);
    const first = tls.ask1(server, '/');
    const session = tls.session2(server);
    const goaway = once(session, 'goaway');
    const second = tls.ask2(session, { ':path': '/' });
    await both;
    expect(server.inFlight).toBe(2);
    const stopped = server.stop();
    await goaway;
    await expect(tls.ask1(server, '/')).rejects.toThrow('ECONNREFUSED');
    gate.resolve();
    expect((await first).body.toString()).toBe('finished');
    expect((await first).headers.connection).toBe('close');
    expect((await second).body.toString()).toBe('finished');
    await stopped;
    expect(server.inFlight).toBe(0);
  });

  test('a request that is on its way on an idle connection is answered, not cut', async () => {
    const server = await serve((exchange) => exchange.respond(200, 'answered'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await tls.ask1(server, '/', { agent })).headers.connection).toBe('keep-alive');
    const stopped = server.stop();
    await expect(tls.ask1(server, '/')).rejects.toThrow('ECONNREFUSED');
    const answer = await tls.ask1(server, '/', { agent, method: 'POST' }, Buffer.from('late'));
    expect([answer.body.toString(), answer.headers.connection]).toEqual(['answered', 'close']);
    await stopped;
    agent.destroy();
  });

  test('connections that nobody uses are closed a moment later', async () => {
    const connections = new ConnectionTable({ beforeAuthentication: 10, total: 10 });
    const server = await serve((exchange) => exchange.respond(200, ''), { stopQuietMs: 20 }, connections);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await tls.ask1(server, '/', { agent });
    expect(connections.open).toBe(1);
    await server.stop();
    await eventually(() => expect(connections.open).toBe(0));
    agent.destroy();
  });

  test('what does not finish is cut after the grace period', async () => {
    const server = await serve((exchange) => exchange.start(200), { stopGraceMs: 50 });
    const session = tls.session2(server);
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => undefined);
    await once(stream, 'response');
    const closed = once(stream, 'close');
    await server.stop();
    await closed;
    expect(server.inFlight).toBe(0);
  });
});
