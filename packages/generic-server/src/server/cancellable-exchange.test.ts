import type { TLSSocket } from 'node:tls';
import { expect, test } from '@jest/globals';
import { CancellableExchange } from './cancellable-exchange.ts';
import type { Exchange } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/** Records the response. */
class RecordingExchange extends ExchangeDecorator {
  started = 0;
  body = '';
  ended = false;

  constructor() {
    super({ signal: new AbortController().signal } as Exchange);
  }

  override get direct(): Exchange {
    return this;
  }
  override start(status: number): void {
    this.started = status;
  }
  override write(chunk: Buffer): boolean {
    this.body += chunk.toString();
    return true;
  }
  override respond(status: number, body: Buffer | string): void {
    this.start(status);
    this.body += body.toString();
    this.end();
  }
  override end(): void {
    this.ended = true;
  }
  override destroy(): void {
    this.ended = true;
  }
}

function watching(): { client: RecordingExchange; exchange: CancellableExchange; end: () => void } {
  const client = new RecordingExchange();
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
  expect([client.started, client.body]).toEqual([200, 'one']);
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
  expect([client.started, client.body]).toEqual([403, 'no']);
});

test('ignores the signal after release', () => {
  const { client, exchange, end } = watching();
  exchange.start(200);
  exchange.release();
  end();
  expect(client.ended).toBe(false);
});

test('closes an upgraded connection', () => {
  const client = new RecordingExchange();
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
