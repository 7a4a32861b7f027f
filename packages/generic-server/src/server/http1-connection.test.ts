import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { Http1Client, TlsFixture } from '@multiplane/testing/serving';
import type { BaseExchange } from './base-exchange.ts';
import type { HttpServer } from './http-server.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

const get = (path: string, ...lines: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'Host: x', ...lines].join('\r\n')}\r\n\r\n`;
const post = (path: string, length: number, ...lines: string[]): string =>
  `${[`POST ${path} HTTP/1.1`, 'Host: x', `Content-Length: ${length}`, ...lines].join('\r\n')}\r\n\r\n`;
const open = (server: HttpServer, readsSlowly = false): Promise<Http1Client> =>
  Http1Client.open({ port: server.port, ca: tls.ca }, { readsSlowly });
const closed = (client: Http1Client): Promise<unknown> =>
  client.socket.destroyed ? Promise.resolve() : once(client.socket, 'close');

/** Requests that wait for their responses, by path. */
class Gate {
  readonly waiting = new Map<string, () => void>();
  readonly aborted: string[] = [];
  readonly handle = async (exchange: BaseExchange): Promise<void> => {
    const { url } = exchange;
    exchange.signal.addEventListener('abort', () => this.aborted.push(url));
    await new Promise<void>((resolve) => this.waiting.set(url, resolve));
    exchange.respond(200, url);
  };
  async open(path: string): Promise<void> {
    await eventually(() => {
      const proceed = this.waiting.get(path);
      if (proceed === undefined) throw new Error(`${path} has not started`);
      proceed();
    });
  }
}

describe('requests of one connection', () => {
  test.each([65_535, 65_536, 90_000, 1_048_576])(
    'the headers and the body of a request that follows a response of %i bytes at once may come in two records',
    async (size) => {
      const rounds = size > 100_000 ? 3 : 20;
      const server = await tls.answer(async (exchange) => {
        const body = await exchange.readBody(1_000);
        // oxlint-disable-next-line tests/no-real-timers -- the response starts in a later iteration
        await new Promise((resolve) => setImmediate(resolve));
        exchange.respond(200, exchange.method === 'GET' ? Buffer.alloc(size) : body);
      });
      const clients = await Promise.all(Array.from({ length: 8 }, () => open(server)));
      await Promise.all(
        clients.map(async (client) => {
          for (let i = 0; i < rounds; i++) {
            const large = client.next('GET');
            client.socket.write(get('/large'));
            expect((await large).body).toHaveLength(size);
            const small = client.next('POST');
            client.socket.write(post('/small', 5));
            client.socket.write('hello');
            expect((await small).body.toString()).toBe('hello');
          }
        }),
      );
      for (const client of clients) client[Symbol.dispose]();
    },
  );

  test.each([
    ['http://localhost/version?verbose', '/version?verbose'],
    ['HTTPS://localhost:1?x', '/?x'],
    ['http://localhost', '/'],
  ])('the absolute form of a target is that of its path: %s', async (target, url) => {
    const server = await tls.answer((exchange) => exchange.respond(200, exchange.url));
    using client = await open(server);
    const response = client.next('GET');
    client.socket.write(get(target));
    expect((await response).body.toString()).toBe(url);
  });

  test('a tunnel is refused with a response, and an upgrade to HTTP/2 is ignored', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, exchange.url));
    using tunnel = await open(server);
    const refused = tunnel.next('CONNECT');
    tunnel.socket.write('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n');
    expect((await refused).status).toBe(405);
    using client = await open(server);
    const [first, second] = [client.next('GET'), client.next('GET')];
    client.socket.write(
      `GET /first HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n${get('/second')}`,
    );
    expect((await first).body.toString()).toBe('/first');
    await expect(second).rejects.toThrow(/closed|ended|hang up/);
    expect(client.isEnded).toBe(true);
  });

  test('a thousand pipelined requests, most of them before the client reads', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, exchange.url));
    using client = await open(server, true);
    const responses = Array.from({ length: 1_000 }, () => client.next('GET'));
    client.socket.write(Array.from(responses, (_, i) => get(`/${i}`)).join(''));
    const bodies = await Promise.all(responses.map(async (response) => (await response).body.toString()));
    expect(bodies).toEqual(Array.from(responses, (_, i) => `/${i}`));
  });

  test('the interim response to a pipelined request is sent before its response', async () => {
    const server = await tls.answer(async (exchange) => {
      await exchange.readBody(100);
      exchange.respond(200, exchange.url);
    });
    using client = await open(server);
    const responses = [client.next('POST'), client.next('POST')];
    const second = post('/second', 5, 'Expect: 100-continue');
    client.socket.write(`${post('/first', 5)}hello${second}hello`);
    const [first, last] = await Promise.all(responses);
    expect([first?.body.toString(), last?.interim, last?.body.toString()]).toEqual(['/first', [100], '/second']);
  });

  test('pipelined requests beyond the limit are not read', async () => {
    const gate = new Gate();
    const server = await tls.answer(gate.handle, { maxPipelinedRequests: 3 });
    using client = await open(server);
    const responses = Array.from({ length: 40 }, () => client.next('POST'));
    const body = 'x'.repeat(20_000);
    for (const [i] of responses.entries()) client.socket.write(post(`/${i}`, body.length) + body);
    await eventually(() => expect(gate.waiting.size).toBe(1));
    // The running request, those that wait, and the one during which the limit is found.
    expect(server.inFlight).toBe(1);
    for (const [i, response] of responses.entries()) {
      await gate.open(`/${i}`);
      expect((await response).body.toString()).toBe(`/${i}`);
    }
  });

  test('an upgrade behind a request that is not answered is ignored', async () => {
    const gate = new Gate();
    const server = await tls.answer(gate.handle);
    using client = await open(server);
    const responses = [client.next('GET'), client.next('GET')];
    client.socket.write(get('/first') + get('/second', 'Connection: Upgrade', 'Upgrade: websocket'));
    await gate.open('/first');
    await gate.open('/second');
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
  });

  test('an upgrade with a body is an ordinary request', async () => {
    const server = await tls.answer(async (exchange) => exchange.respond(200, await exchange.readBody(100)));
    using client = await open(server);
    const response = client.next('POST');
    client.socket.write(`${post('/', 5, 'Connection: Upgrade', 'Upgrade: h2c')}hello`);
    expect((await response).body.toString()).toBe('hello');
  });
});

describe('malformed input', () => {
  const garbage = 'no request\r\n\r\n';

  test('is answered behind the requests before it', async () => {
    const gate = new Gate();
    const server = await tls.answer(gate.handle);
    using client = await open(server);
    const responses = [client.next('GET'), client.next('GET'), client.next('GET')];
    client.socket.write(get('/first') + get('/second') + garbage);
    await gate.open('/first');
    await gate.open('/second');
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200, 400]);
    await closed(client);
  });

  test('in the body of a request is its response', async () => {
    const gate = new Gate();
    const server = await tls.answer(async (exchange) => {
      if (exchange.url !== '/first') await exchange.readBody(100);
      await gate.handle(exchange);
    });
    using client = await open(server);
    const responses = [client.next('GET'), client.next('POST')];
    client.socket.write(`${get('/first')}POST /second HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`);
    await gate.open('/first');
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 400]);
    await closed(client);
    expect([...gate.waiting.keys()]).toEqual(['/first']);
  });

  test('in a body that the server does not read follows its response', async () => {
    const server = await tls.answer((exchange) => exchange.respond(403, 'refused'));
    using client = await open(server);
    const response = client.next('POST');
    client.socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    expect((await response).status).toBe(403);
    client.socket.write('zz\r\n');
    await closed(client);
    expect(client.isEnded).toBe(true);
  });
});

describe('a client that ends its side', () => {
  test('gets the responses to what it sent, also after it was asked whether it is there', async () => {
    const gate = new Gate();
    const server = await tls.answer(gate.handle);
    using client = await open(server);
    const responses = [client.next('GET'), client.next('POST')];
    client.socket.end(`${get('/first')}${post('/second', 5)}hello`);
    const asked = client.anyResponse();
    await asked;
    await gate.open('/first');
    await gate.open('/second');
    const [first, second] = await Promise.all(responses);
    expect([first?.status, first?.body.toString(), second?.body.toString()]).toEqual([200, '/first', '/second']);
    expect(first?.interim).toContain(100);
    await closed(client);
    expect(gate.aborted).toEqual([]);
  });

  test('gets 400 for a request that it did not complete', async () => {
    const server = await tls.answer(async (exchange) => exchange.respond(200, await exchange.readBody(100)));
    using client = await open(server);
    const response = client.next('POST');
    client.socket.end(`${post('/', 5)}he`);
    expect((await response).status).toBe(400);
  });

  test('and has left ends its request', async () => {
    const gate = new Gate();
    const server = await tls.answer(gate.handle);
    const client = await open(server);
    client.socket.write(get('/'));
    await eventually(() => expect(gate.waiting.size).toBe(1));
    client.socket.destroy();
    await eventually(() => expect(gate.aborted).toEqual(['/']));
    expect(server.inFlight).toBe(0);
  });

  test('and has left ends its watch', async () => {
    const aborted: string[] = [];
    const server = await tls.answer((exchange) => {
      exchange.signal.addEventListener('abort', () => aborted.push(exchange.url));
      exchange.start(200);
      exchange.write(Buffer.from('{}\n'));
    });
    const client = await open(server);
    client.next('GET').catch(() => undefined);
    client.socket.write(get('/watch'));
    await once(client.socket, 'data');
    client.socket.destroy();
    await eventually(() => expect(aborted).toEqual(['/watch']));
    expect(server.inFlight).toBe(0);
  });
});

describe('a response to a request that is not read to its end', () => {
  test.each([
    ['a refused body', 413, 64 * 1024],
    ['malformed headers', 400, 0],
    ['headers beyond their limit', 431, 0],
  ])('reaches a client that reads after it has sent everything: %s', async (_name, status, limit) => {
    const server = await tls.answer(
      async (exchange) => {
        await exchange.readBody(limit).then(
          () => exchange.respond(200, ''),
          () => exchange.respond(413, 'too large'),
        );
      },
      { maxHeaderBytes: 16 * 1024 },
      undefined,
      // The server drops input for a limited time, which does not pass here.
      {
        now: () => 0,
        monotonic: () => 0,
        after: () => ({ cancel: () => undefined }),
        sleep: () => new Promise(() => {}),
      },
    );
    using client = await open(server);
    const response = client.next('POST');
    client.socket.pause();
    const rest = Buffer.alloc(8 * 1024 * 1024, 'x');
    if (status === 413) client.socket.write(post('/', rest.length));
    else client.socket.write(status === 400 ? `GET / HTTP/9.9\r\nHost: x\r\n\r\n` : 'GET / HTTP/1.1\r\nHost: x\r\nX: ');
    await new Promise<void>((resolve, reject) => {
      client.socket.write(rest, (error) => (error === null || error === undefined ? resolve() : reject(error)));
    });
    client.socket.resume();
    expect((await response).status).toBe(status);
    client.socket.end();
    await closed(client);
  });
});
