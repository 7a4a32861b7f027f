import type { TLSSocket } from 'node:tls';
import { expect, test } from '@jest/globals';
import { CancellableExchange } from './cancellable-exchange.ts';
import { TestExchange } from '../test/test-exchange.ts';

function watching(): { client: TestExchange; exchange: CancellableExchange; end: () => void } {
  const client = new TestExchange('GET', '/watch');
  const until = new AbortController();
  return { client, exchange: new CancellableExchange(client, until.signal), end: () => until.abort() };
}

test('ends a stream properly and aborts the signal of its handler', () => {
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

test('ends a stream immediately if it starts after the signal aborted', () => {
  const { client, exchange, end } = watching();
  end();
  expect(client.ended).toBe(false);
  exchange.start(200);
  exchange.write(Buffer.from('one'));
  expect([client.ended, client.body]).toEqual([true, '']);
});

test('passes a complete response through after the signal aborted', () => {
  const { client, exchange, end } = watching();
  end();
  exchange.respond(403, 'no');
  expect([client.status, client.body]).toEqual([403, 'no']);
});

test('ignores the signal after release', () => {
  const { client, exchange, end } = watching();
  exchange.start(200);
  exchange.release();
  end();
  expect(client.ended).toBe(false);
});

test('closes an upgraded connection', () => {
  const client = new TestExchange('GET', '/watch');
  const until = new AbortController();
  let closed = false;
  const socket = { destroy: () => (closed = true) } as unknown as TLSSocket;
  Object.assign(client, { takeConnection: () => ({ socket, head: Buffer.alloc(0) }) });
  const exchange = new CancellableExchange(client, until.signal);
  expect(exchange.takeConnection?.().socket).toBe(socket);
  expect(closed).toBe(false);
  until.abort();
  expect(closed).toBe(true);
});
