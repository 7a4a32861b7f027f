import { createGzip, gunzipSync, type Gzip } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { TlsFixture } from '@multiplane/testing/serving';
import { DispatchedExchange } from './dispatched-exchange.ts';
import { acceptsGzip, GzipExchange } from './gzip-exchange.ts';
import { ObservedExchange } from './observed-exchange.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

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
      const dispatched = new DispatchedExchange(observed, '/again');
      expect(dispatched.auditTrail).toBe(auditTrail);
      (acceptsGzip(dispatched.headers) ? new GzipExchange(dispatched) : dispatched).respond(200, big);
    });
    const answer = await tls.ask1(server, '/', { headers: { 'accept-encoding': 'gzip' } });
    expect(gunzipSync(answer.body).equals(big)).toBe(true);
  });

  test('a long stream with back-pressure leaks no listeners', async () => {
    const write = jest.spyOn(Object.getPrototypeOf(createGzip()) as Gzip, 'write');
    const listeners: number[] = [];
    const piece = Buffer.alloc(200_000, 'abc');
    const server = await tls.answer(async (raw) => {
      const exchange = new GzipExchange(raw);
      exchange.start(200);
      for (let count = 0; count < 30; count++) {
        if (!exchange.write(piece)) await exchange.drained();
        listeners.push((write.mock.contexts[0] as Gzip).listenerCount('close'));
      }
      exchange.end();
    });
    const answer = await tls.ask1(server, '/');
    write.mockRestore();
    expect(gunzipSync(answer.body).length).toBe(30 * piece.length);
    expect(new Set(listeners).size).toBe(1);
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
