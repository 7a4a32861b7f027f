import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { TlsFixture } from '@multiplane/testing/serving';
import { DispatchedExchange } from './dispatched-exchange.ts';
import { acceptsGzip, GzipExchange } from './gzip-exchange.ts';
import type { HttpServer } from './http-server.ts';
import { ObservedExchange } from './observed-exchange.ts';
import { shareChunk } from './shared-chunk.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };

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
    const server = await tls.answer((exchange) => answerWith(new GzipExchange(exchange)));
    const answer = await tls.ask1(server, '/');
    expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(answer.body.length).toBeLessThan(big.length / 10);
    expect(gunzipSync(answer.body).equals(big)).toBe(true);
  });

  test('a request that two handler chains of one process serve is compressed once', async () => {
    const auditTrail = { annotate: () => {}, requestObject: () => undefined, requestPatch: () => undefined };
    const server = await tls.answer((raw) => {
      const observed = new ObservedExchange(new GzipExchange(raw), { auditTrail, maxBodyBytes: 0, onStart: () => {} });
      const dispatched = new DispatchedExchange(observed, '/again', ann);
      expect(dispatched.auditTrail).toBe(auditTrail);
      (acceptsGzip(dispatched.headers) ? new GzipExchange(dispatched) : dispatched).respond(200, big);
    });
    const answer = await tls.ask1(server, '/', { headers: { 'accept-encoding': 'gzip' } });
    expect(gunzipSync(answer.body).equals(big)).toBe(true);
  });

  test('a writer waits for a client that does not read, and continues when it reads', async () => {
    const piece = randomBytes(200_000);
    const count = 100;
    let written = 0;
    const server = await tls.answer(async (raw) => {
      const exchange = new GzipExchange(raw);
      exchange.start(200);
      for (; written < count; written++) if (!exchange.write(piece)) await exchange.drained();
      exchange.end();
    });
    const socket = await tls.socket(server);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await eventually(() => expect(written).toBeGreaterThan(5));
    let before = -1;
    await eventually(() => {
      const isSame = written === before;
      before = written;
      expect(isSame).toBe(true);
    });
    expect(written).toBeLessThan(count);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
    await once(socket, 'end');
    expect(written).toBe(count);
    expect(Buffer.concat(chunks).subarray(-5).toString()).toBe('0\r\n\r\n');
  });

  test('a writer that waits continues when the client leaves', async () => {
    let isFinished = false;
    let waits = false;
    const server = await tls.answer(async (raw) => {
      const exchange = new GzipExchange(raw);
      exchange.start(200);
      while (!raw.signal.aborted) {
        waits = true;
        if (!exchange.write(randomBytes(200_000))) await exchange.drained();
      }
      exchange.end();
      isFinished = true;
    });
    const socket = await tls.socket(server);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => expect(waits).toBe(true));
    socket.destroy();
    await eventually(() => expect(isFinished).toBe(true));
  });

  describe('shared chunks', () => {
    const shared = [60_000, 60_100, 20_000, 900_000, 1, 60_200, 60_300].map((length, index) =>
      shareChunk(index % 2 === 0 ? Buffer.alloc(length, `{"index":${index}}`) : randomBytes(length)),
    );
    /** Shared chunks with others between them; which ones differs between versions. */
    const contents = (version: number): Buffer[] =>
      shared.flatMap((chunk, index) => {
        if (index % 3 === version % 3) return [Buffer.alloc(70_000, `${version} changed`), chunk];
        return index % 3 === 1 ? [Buffer.alloc(300, `${version} short`), chunk] : [chunk];
      });
    const serve = (): Promise<HttpServer> =>
      tls.answer(async (raw) => {
        const exchange = new GzipExchange(raw);
        exchange.start(200);
        for (const chunk of contents(Number(raw.url.slice(1)))) if (!exchange.write(chunk)) await exchange.drained();
        exchange.end();
      });

    test('are the same in each response, one after the other and at the same time', async () => {
      const server = await serve();
      const check = async (version: number): Promise<void> => {
        const { body } = await tls.ask1(server, `/${version}`);
        expect(gunzipSync(body).equals(Buffer.concat(contents(version)))).toBe(true);
      };
      for (let round = 0; round < 5; round++) await check(round);
      for (let round = 0; round < 3; round++) await Promise.all([0, 1, 2, 3].map(check));
    });

    test('are in one member: some clients read only the first one', async () => {
      const server = await serve();
      for (let round = 0; round < 4; round++) {
        const { body } = await tls.ask1(server, '/0');
        const { engine } = inflateRawSync(body.subarray(10), { info: true }) as unknown as {
          engine: { bytesWritten: number };
        };
        expect(engine.bytesWritten).toBe(body.length - 10 - 8);
      }
    });

    test('are the same over HTTP/2', async () => {
      const server = await serve();
      const session = tls.session2(server);
      for (let round = 0; round < 4; round++) {
        const { body } = await tls.ask2(session, { ':path': '/1' });
        expect(gunzipSync(body).equals(Buffer.concat(contents(1)))).toBe(true);
      }
    });
  });

  test('streams at the same time, whose input buffers are reused, do not mix', async () => {
    const server = await tls.answer(async (raw) => {
      const exchange = new GzipExchange(raw);
      exchange.start(200);
      // The last one exceeds what an input buffer holds.
      for (const length of [...Array.from({ length: 40 }, () => 90_000), 900_000, 1])
        if (!exchange.write(Buffer.alloc(length, raw.url))) await exchange.drained();
      exchange.end();
    });
    for (let round = 0; round < 2; round++)
      await Promise.all(
        ['/abc', '/defg', '/hijkl'].map(async (path) => {
          const { body } = await tls.ask1(server, path);
          const pieces = [...Array.from({ length: 40 }, () => 90_000), 900_000, 1];
          const expected = Buffer.concat(pieces.map((length) => Buffer.alloc(length, path)));
          expect(gunzipSync(body).equals(expected)).toBe(true);
        }),
      );
  });

  test('existing Vary values are kept', async () => {
    const server = await tls.answer((raw) => {
      const exchange = new GzipExchange(raw);
      exchange.setHeader('vary', 'Accept');
      exchange.respond(200, big);
    });
    expect((await tls.ask1(server, '/')).headers.vary).toBe('Accept, Accept-Encoding');
  });

  test('short responses are not compressed', async () => {
    const server = await tls.answer((raw) => {
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
