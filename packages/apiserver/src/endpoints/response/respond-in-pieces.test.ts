import { expect, test } from '@jest/globals';
import { memoryContext, MemoryExchange } from '../../../test/memory-exchange.ts';
import { respondInPieces } from './respond-in-pieces.ts';

/** An exchange whose client reads each piece before the next one. */
class SlowExchange extends MemoryExchange {
  readonly pieces: number[] = [];
  unread = 0;
  override write(chunk: Buffer): boolean {
    if (this.unread > 0) throw new Error('the client has not read the piece before');
    this.pieces.push(chunk.length);
    this.unread = chunk.length;
    super.write(chunk);
    return false;
  }
  override drained(): Promise<void> {
    this.unread = 0;
    return Promise.resolve();
  }
}

const document = Buffer.from('0123456789'.repeat(150_000));

test('a long document is sent in pieces, as fast as the client reads', async () => {
  const exchange = new SlowExchange('GET', '/clusters/a/openapi/v2');
  await respondInPieces(memoryContext(exchange), document);
  expect(exchange.body).toBe(document.toString());
  expect([exchange.status, exchange.answer['content-length']]).toEqual([200, '1500000']);
  expect(exchange.pieces.length).toBeGreaterThan(4);
  expect(Math.max(...exchange.pieces)).toBeLessThanOrEqual(256 * 1024);
});

test('a short document, and one of a HEAD request, is sent at once', async () => {
  for (const [method, body] of [
    ['GET', Buffer.from('short')],
    ['HEAD', document],
  ] as const) {
    const exchange = new SlowExchange(method, '/clusters/a/openapi/v2');
    await respondInPieces(memoryContext(exchange), body);
    expect([exchange.status, exchange.body.length, exchange.pieces]).toEqual([200, body.length, []]);
  }
});
