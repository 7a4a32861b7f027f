import { once } from 'node:events';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { TlsFixture } from '@multiplane/testing/serving';
import type { BaseExchange } from '@multiplane/generic-server';
import { ChunkedBody } from './response/chunked-body.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

describe('streams', () => {
  test('that are written concurrently do not mix bytes of shared chunks', async () => {
    const size = 3 * 1024 * 1024;
    const server = await tls.answer(async (exchange) => {
      const letter = exchange.url.slice(1);
      const body = new ChunkedBody({ exchange, signal: exchange.signal, info: {} }, 200);
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
  const stream = async (exchange: BaseExchange): Promise<void> => {
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

  test('apply back-pressure', async () => {
    const server = await tls.answer(stream);
    expect((await tls.ask1(server, '/')).body).toHaveLength(total);
    expect((await tls.ask2(tls.session2(server), { ':path': '/' })).body).toHaveLength(total);
  });

  test('send headers immediately', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await tls.answer(async (exchange) => {
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

  test.each(['1.1', '2.0'])('signal that the client disconnected, over HTTP/%s', async (version) => {
    const aborted = Promise.withResolvers<boolean>();
    const started = Promise.withResolvers<void>();
    const server = await tls.answer(async (exchange) => {
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

  test.each(['1.1', '2.0'])('a complete response never aborts, over HTTP/%s', async (version) => {
    const closed = Promise.withResolvers<boolean>();
    const server = await tls.answer((exchange) => {
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

  test('an invalid header ends the request', async () => {
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

  test('an aborted response is incomplete for the client', async () => {
    const server = await tls.answer((exchange) => {
      exchange.start(200);
      exchange.write(Buffer.from('half'));
      exchange.destroy();
    });
    await expect(tls.ask1(server, '/')).rejects.toThrow(/aborted|ECONNRESET|socket|NGHTTP2/);
    await expect(tls.ask2(tls.session2(server), { ':path': '/' })).rejects.toThrow(/aborted|ECONNRESET|socket|NGHTTP2/);
  });
});
