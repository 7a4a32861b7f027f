import type { TLSSocket } from 'node:tls';
import { expect, test } from '@jest/globals';
import { EndingExchange } from './ending-exchange.ts';
import { TestExchange } from './test-support/test-exchange.ts';

function watching(): { client: TestExchange; exchange: EndingExchange; end: () => void } {
  const client = new TestExchange('GET', '/watch');
  const until = new AbortController();
  return { client, exchange: new EndingExchange(client, until.signal), end: () => until.abort() };
}

test('a stream ends properly, and whoever writes it learns that nobody reads any more', () => {
  const { client, exchange, end } = watching();
  exchange.start(200);
  exchange.write(Buffer.from('one'));
  expect(client.ended).toBe(false);
  end();
  expect([client.ended, exchange.signal.aborted]).toEqual([true, true]);
  exchange.write(Buffer.from('two'));
  exchange.destroy();
  expect([client.status, client.body]).toEqual([200, 'one']);
});

test('a stream that begins too late is an empty one', () => {
  const { client, exchange, end } = watching();
  end();
  expect(client.ended).toBe(false);
  exchange.start(200);
  exchange.write(Buffer.from('one'));
  expect([client.ended, client.body]).toEqual([true, '']);
});

test('a refusal is answered whenever it comes', () => {
  const { client, exchange, end } = watching();
  end();
  exchange.respond(403, 'no');
  expect([client.status, client.body]).toEqual([403, 'no']);
});

test('released, it takes no notice of the end', () => {
  const { client, exchange, end } = watching();
  exchange.start(200);
  exchange.release();
  end();
  expect(client.ended).toBe(false);
});

test('a connection that was upgraded is closed', () => {
  const client = new TestExchange('GET', '/watch');
  const until = new AbortController();
  let closed = false;
  const socket = { destroy: () => (closed = true) } as unknown as TLSSocket;
  Object.assign(client, { takeConnection: () => ({ socket, head: Buffer.alloc(0) }) });
  const exchange = new EndingExchange(client, until.signal);
  expect(exchange.takeConnection?.().socket).toBe(socket);
  expect(closed).toBe(false);
  until.abort();
  expect(closed).toBe(true);
});
