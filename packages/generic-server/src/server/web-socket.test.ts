import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { TlsFixture } from '@multiplane/testing/serving';
import { type ClientOptions, WebSocket } from 'ws';
import { BearerTokenAuthenticator } from '../authentication/bearer-token.ts';
import type { BaseExchange } from './base-exchange.ts';
import type { HttpServer } from './http-server.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

interface Seen {
  readonly socket: WebSocket;
  readonly messages: [text: string, binary: boolean][];
  readonly closed: Promise<number>;
}

async function open(
  server: HttpServer,
  path = '/',
  protocols: string[] = [],
  options: ClientOptions = {},
): Promise<Seen> {
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocols, { ca: tls.ca, ...options });
  const messages: [string, boolean][] = [];
  socket.on('message', (data: Buffer, binary) => messages.push([data.toString(), binary]));
  const closed = once(socket, 'close').then(([code]) => code as number);
  await once(socket, 'open');
  return { socket, messages, closed };
}

const serve = (handle: (exchange: BaseExchange) => Promise<void> | void): Promise<HttpServer> =>
  tls.serve(async (exchange) => handle(exchange));

/** Waits until no request is in flight. */
async function idle(server: HttpServer): Promise<void> {
  await eventually(() => expect(server.inFlight).toBe(0));
}

/** The ordinary response to a WebSocket request. */
async function refused(server: HttpServer, headers: Record<string, string> = {}): Promise<string> {
  const answer = await tls.ask1(server, '/', {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AQIDBAUGBwgJCgsMDQ4PEA==',
      ...headers,
    },
  });
  return `${answer.status} ${answer.body.toString()}`;
}

describe('a watch over a WebSocket', () => {
  test('every line is a text frame, and the end is a normal closure', async () => {
    const server = await serve(async (exchange) => {
      exchange.setHeader('audit-id', 'a');
      exchange.setHeader('content-type', 'application/json');
      exchange.upgradeToWebSocket?.();
      exchange.start(200);
      exchange.write(Buffer.from('{"a":1}\n'));
      await new Promise<void>((resolve) => exchange.write(Buffer.from('{"b":"é"}\n{"c":3}\n'), resolve));
      exchange.end();
    });
    const { messages, closed } = await open(server);
    expect(await closed).toBe(1000);
    expect(messages).toEqual([
      ['{"a":1}', false],
      ['{"b":"é"}', false],
      ['{"c":3}', false],
    ]);
    await idle(server);
  });

  test('the signal aborts when the client disconnects, and messages of the client are dropped', async () => {
    let gone: Promise<unknown> | undefined;
    const server = await serve((exchange) => {
      exchange.upgradeToWebSocket?.();
      exchange.start(200);
      gone = once(exchange.signal, 'abort');
      exchange.write(Buffer.from('{}\n'));
    });
    const { socket, messages, closed } = await open(server);
    while (messages.length === 0) await once(socket, 'message');
    socket.send('hello');
    socket.close();
    expect(await closed).toBe(1005);
    await gone;
  });

  test('a client that does not read causes back-pressure', async () => {
    const full = Promise.withResolvers<BaseExchange>();
    const server = await serve((exchange) => {
      exchange.upgradeToWebSocket?.();
      exchange.start(200);
      const line = Buffer.from(`${'x'.repeat(100_000)}\n`);
      // More than the socket buffers of both sides hold.
      for (let i = 0; i < 400; i++) exchange.write(line);
      full.resolve(exchange);
    });
    const { socket, closed } = await open(server);
    socket.pause();
    const exchange = await full.promise;
    expect(exchange.buffered).toBeGreaterThan(0);
    socket.resume();
    await exchange.drained();
    exchange.end();
    expect(await closed).toBe(1000);
  });

  test('an aborted response is not a normal closure', async () => {
    const server = await serve((exchange) => {
      exchange.upgradeToWebSocket?.();
      exchange.start(200);
      exchange.destroy();
    });
    const { closed } = await open(server);
    expect(await closed).toBe(1006);
  });
});

describe('a response without a WebSocket', () => {
  test('is an ordinary response and ends the connection', async () => {
    const server = await serve((exchange) => {
      exchange.upgradeToWebSocket?.();
      exchange.respond(403, 'no');
    });
    expect(await refused(server)).toBe('403 no');
    await idle(server);
  });

  test('is sent by handlers that do not support upgrades', async () => {
    const server = await serve((exchange) => exchange.respond(200, `${exchange.method} ${exchange.url}`));
    expect(await refused(server)).toBe('200 GET /');
    expect(await refused(server, { upgrade: 'h2c' })).toBe('200 GET /');
  });

  test('is 400 for an invalid handshake', async () => {
    const server = await serve((exchange) => {
      exchange.upgradeToWebSocket?.();
      exchange.start(200);
    });
    expect(await refused(server, { 'sec-websocket-key': 'short' })).toMatch(/^400 /);
    await idle(server);
  });
});

describe('a bearer token in the subprotocols', () => {
  const encoded = (token: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
  const authenticator = new BearerTokenAuthenticator(
    { audiences: [] },
    {
      tokens: {
        authenticateToken: (token) =>
          Promise.resolve(token === 'good' ? { user: { name: 'u', uid: '', groups: [], extra: {} } } : undefined),
      },
    },
  );
  const server = (): Promise<HttpServer> =>
    serve(async (exchange) => {
      try {
        const who = await authenticator.authenticate(exchange);
        exchange.upgradeToWebSocket?.();
        exchange.start(200);
        exchange.write(Buffer.from(`${who?.user.name ?? 'anonymous'}\n`));
        exchange.end();
      } catch (error) {
        exchange.respond(401, (error as Error).message);
      }
    });

  test('authenticates and is not sent back', async () => {
    const { socket, messages, closed } = await open(await server(), '/', [encoded('good'), 'base64.binary.k8s.io']);
    await closed;
    expect(messages).toEqual([['u', false]]);
    expect(socket.protocol).toBe('base64.binary.k8s.io');
  });

  test('is optional', async () => {
    const { messages, closed } = await open(await server());
    await closed;
    expect(messages).toEqual([['anonymous', false]]);
  });

  test.each([
    [`${encoded('bad')}, x`, 'invalid bearer token'],
    [encoded('good'), 'missing additional subprotocol'],
    [`${encoded('good')}, ${encoded('good')}, x`, 'more than one bearer token among the protocols'],
    ['base64url.bearer.authorization.k8s.io.a+b, x', 'the bearer token among the protocols is no base64url'],
  ])('%s is refused', async (protocols, why) => {
    expect(await refused(await server(), { 'sec-websocket-protocol': protocols })).toBe(`401 ${why}`);
  });
});
