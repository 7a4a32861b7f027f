import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { yieldToEventLoop } from '@multiplane/component-base';
import type { BaseExchange } from '@multiplane/generic-server';
import { eventually } from '@multiplane/testing';
import { FakeShard } from '../test/fake-shard.ts';
import { echoOf, ProxyFixture } from '../test/proxy-fixture.ts';

const watchPath = '/clusters/root/api/v1/pods?watch=true';

let proxy: ProxyFixture;
beforeEach(async () => {
  proxy = await ProxyFixture.start([
    '--upstream-silence-timeout=200ms',
    '--upstream-probe-timeout=300ms',
    '--upstream-connect-timeout=500ms',
    '--upstream-give-up-timeout=600ms',
    '--webhook-allowed-networks=127.0.0.0/8',
  ]);
});
afterEach(() => proxy.stop());

/** The next exchanges of a shard, to which the test responds itself; probes are responded to. */
function held(shard: FakeShard): BaseExchange[] {
  const exchanges: BaseExchange[] = [];
  shard.answer = (exchange) => {
    if (exchange.url === '/livez/ping') return undefined;
    exchanges.push(exchange);
    return Promise.resolve();
  };
  return exchanges;
}

async function open(path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  const request = httpsRequest({ host: '127.0.0.1', port: proxy.port, path, ca: proxy.ca, agent: false, ...options });
  request.on('error', () => undefined);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}
const first = async (exchanges: readonly BaseExchange[]): Promise<BaseExchange> =>
  eventually(() => {
    const [exchange] = exchanges;
    if (exchange === undefined) throw new Error('nothing came');
    return exchange;
  });
/** A stream that has received its first frame. */
function over2(path: string): { stream: ClientHttp2Stream; text: () => string } {
  const stream = proxy.session().request({ ':path': path });
  let text = '';
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { stream, text: () => text };
}

describe('a watch', () => {
  test('is forwarded frame by frame', async () => {
    const exchanges = held(proxy.root);
    const request = open(watchPath);
    const shard = await first(exchanges);
    shard.setHeader('content-type', 'application/json');
    shard.start(200);
    const response = await request;
    expect(response.headers['transfer-encoding']).toBe('chunked');
    for (const frame of ['one\n', 'two\n']) {
      shard.write(Buffer.from(frame));
      const [chunk] = (await once(response, 'data')) as [Buffer];
      expect(chunk.toString()).toBe(frame);
    }
    shard.end();
    await once(response, 'end');
    expect(response.complete).toBe(true);
  });

  test('ends at the shard when the client disconnects', async () => {
    const exchanges = held(proxy.root);
    const request = open(watchPath);
    const shard = await first(exchanges);
    shard.start(200);
    (await request).destroy();
    await eventually(() => expect(shard.signal.aborted).toBe(true));
  });

  test('also over HTTP/2', async () => {
    const exchanges = held(proxy.root);
    const { stream, text } = over2(watchPath);
    const shard = await first(exchanges);
    shard.start(200);
    shard.write(Buffer.from('one\n'));
    await eventually(() => expect(text()).toBe('one\n'));
    stream.close(8);
    await eventually(() => expect(shard.signal.aborted).toBe(true));
  });

  test('also before the response started', async () => {
    const exchanges = held(proxy.root);
    const request = httpsRequest({ host: '127.0.0.1', port: proxy.port, path: watchPath, ca: proxy.ca, agent: false });
    request.on('error', () => undefined);
    request.end();
    const shard = await first(exchanges);
    request.destroy();
    await eventually(() => expect(shard.signal.aborted).toBe(true));
  });

  test('is aborted when its shard dies, and never appears complete', async () => {
    const exchanges = held(proxy.root);
    const over1 = open(watchPath);
    const shard = await first(exchanges);
    shard.start(200);
    shard.write(Buffer.from('half'));
    const response = await over1;
    const closed = new Promise((resolve) => response.on('close', resolve));
    const { stream } = over2(watchPath);
    const second = await eventually(() => exchanges[1] ?? Promise.reject(new Error('nothing came')));
    second.start(200);
    second.write(Buffer.from('half'));
    await once(stream, 'response');
    const reset = new Promise((resolve) => stream.on('close', resolve));
    proxy.root.connections.destroyAll();
    await Promise.all([closed, reset]);
    expect(response.complete).toBe(false);
    expect(stream.rstCode).not.toBe(0);
  });

  test('completes when the proxy stops', async () => {
    const exchanges = held(proxy.root);
    const request = open(watchPath);
    const shard = await first(exchanges);
    shard.start(200);
    shard.write(Buffer.from('one\n'));
    const response = await request;
    response.resume();
    const ended = once(response, 'end');
    await proxy.end();
    await ended;
    expect(response.complete).toBe(true);
    await eventually(() => expect(shard.signal.aborted).toBe(true));
  });
});

describe('a body', () => {
  test('is read at the speed of the client', async () => {
    const exchanges = held(proxy.root);
    const request = open('/clusters/root/large');
    const shard = await first(exchanges);
    shard.start(200);
    const response = await request;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    // Socket buffers hold a few megabytes; without back-pressure the proxy would read everything.
    while (sent < 200 * 1024 * 1024 && shard.buffered < 4 * 1024 * 1024) {
      shard.write(chunk);
      sent += chunk.length;
      await yieldToEventLoop();
    }
    expect(sent).toBeLessThan(60 * 1024 * 1024);
    shard.end();
    let received = 0;
    response.on('data', (data: Buffer) => (received += data.length));
    await once(response, 'end');
    expect(received).toBe(sent);
  });

  test('of a request is streamed, and an aborted one does not appear complete', async () => {
    const got: string[] = [];
    let broken = false;
    proxy.root.answer = (exchange) => {
      if (exchange.method !== 'POST') return undefined;
      const body = exchange.bodyStream();
      body?.on('data', (chunk: Buffer) => got.push(chunk.toString()));
      exchange.signal.addEventListener('abort', () => (broken = true));
      return Promise.resolve();
    };
    const options = { host: '127.0.0.1', port: proxy.port, path: '/clusters/root/up', method: 'POST', ca: proxy.ca };
    const request = httpsRequest({ ...options, agent: false });
    request.on('error', () => undefined);
    request.write('one');
    await eventually(() => expect(got).toEqual(['one']));
    request.write('two');
    await eventually(() => expect(got).toEqual(['one', 'two']));
    request.destroy();
    await eventually(() => expect(broken).toBe(true));
  });

  test('a response before the end of the request body is forwarded', async () => {
    proxy.root.answer = (exchange) => {
      if (exchange.method !== 'POST') return undefined;
      exchange.respond(413, 'too much');
      return Promise.resolve();
    };
    const options = { host: '127.0.0.1', port: proxy.port, path: '/clusters/root/up', method: 'POST', ca: proxy.ca };
    const request = httpsRequest({ ...options, agent: false });
    request.on('error', () => undefined);
    request.write('the beginning');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    expect(response.headers.connection).toBe('close');
    request.destroy();
  });

  test('is absent for HEAD, 204 and 304', async () => {
    proxy.root.answer = (exchange) => {
      const status = Number(exchange.url.split('/').pop());
      exchange.setHeader('etag', '"1"');
      exchange.respond(status, status === 200 ? 'four' : '');
      return Promise.resolve();
    };
    const head = await proxy.ask('/clusters/root/200', { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '4', 0]);
    for (const status of [204, 304]) {
      const answer = await proxy.ask(`/clusters/root/${status}`);
      expect([answer.status, answer.headers.etag, answer.body.length]).toEqual([status, '"1"', 0]);
    }
    const session = proxy.session();
    const over = await proxy.ask2(session, { ':path': '/clusters/root/200', ':method': 'HEAD' });
    expect([over.status, over.headers['content-length'], over.body.length]).toEqual([200, '4', 0]);
  });

  test('is followed by trailers', async () => {
    proxy.root.answer = (exchange) => {
      exchange.setHeader('trailer', 'x-sum');
      exchange.start(200);
      exchange.write(Buffer.from('body'));
      exchange.end(['x-sum', '42']);
      return Promise.resolve();
    };
    const response = await open('/clusters/root/x');
    response.resume();
    await once(response, 'end');
    expect(response.trailers).toEqual({ 'x-sum': '42' });
    const { stream, text } = over2('/clusters/root/x');
    const [trailers] = (await once(stream, 'trailers')) as [Record<string, string>];
    expect(trailers['x-sum']).toBe('42');
    expect(text()).toBe('body');
  });
});

describe('response headers', () => {
  test('are forwarded with repetitions, except for hop-by-hop headers', async () => {
    proxy.root.answer = (exchange) => {
      exchange.setHeader('warning', ['299 - "a"', '299 - "b"']);
      exchange.setHeader('connection', 'close, x-inner');
      exchange.setHeader('x-inner', 'secret');
      exchange.setHeader('keep-alive', 'timeout=1');
      exchange.setHeader('content-encoding', 'gzip');
      exchange.respond(200, Buffer.from([1, 2, 3]));
      return Promise.resolve();
    };
    for (const answer of [
      await proxy.ask('/clusters/root/x', { headers: { connection: 'keep-alive' } }),
      await proxy.ask2(proxy.session(), { ':path': '/clusters/root/x' }),
    ]) {
      expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', warning: '299 - "a", 299 - "b"' });
      expect(answer.headers).not.toHaveProperty('x-inner');
      expect(answer.headers['keep-alive']).not.toBe('timeout=1');
      expect([...answer.body]).toEqual([1, 2, 3]);
    }
  });

  test.each([
    ['https://evil.example/clusters/x', 502],
    ['//evil.example/', 502],
    ['/\\evil.example', 502],
    ['/clusters/root/clean', 307],
  ])('a redirect to %s', async (location, status) => {
    proxy.root.answer = (exchange) => {
      exchange.setHeader('location', location);
      exchange.respond(307, '');
      return Promise.resolve();
    };
    const answer = await proxy.ask('/clusters/root/x', await proxy.identity('alice'));
    expect(answer.status).toBe(status);
    expect(answer.headers.location).toBe(status === 307 ? location : undefined);
    expect(proxy.root.requests.length).toBe(1);
  });
});

describe('an upgrade', () => {
  const asks = (upgrade: string): string =>
    `GET /clusters/root/exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: ${upgrade}\r\n\r\n`;

  test.each(['websocket', 'SPDY/3.1'])('to %s forwards bytes in both directions', async (protocol) => {
    let gone = false;
    proxy.root.answer = (exchange) => {
      const { socket, head } = exchange.takeConnection?.() ?? {};
      if (socket === undefined) return undefined;
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nX-Key: k\r\n\r\nhi`,
      );
      socket.on('close', () => (gone = true));
      if (head !== undefined && head.length > 0) socket.write(head);
      socket.on('data', (chunk: Buffer) => socket.write(chunk.toString().toUpperCase()));
      return Promise.resolve();
    };
    const socket = await proxy.socket();
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write(asks(protocol));
    await eventually(() => expect(received).toMatch(/^HTTP\/1\.1 101 [^]*X-Key: k\r\n\r\nhi$/));
    socket.write('there');
    await eventually(() => expect(received).toMatch(/THERE$/));
    socket.destroy();
    await eventually(() => expect(gone).toBe(true));
  });

  test('that the shard rejects is a response and ends both connections', async () => {
    let after = '';
    let shardClosed = false;
    proxy.root.answer = (exchange) => {
      if (exchange.takeConnection === undefined) return undefined;
      exchange.socket.on('close', () => (shardClosed = true));
      exchange.socket.on('data', (chunk: Buffer) => (after += chunk.toString()));
      exchange.setHeader('content-type', 'application/json');
      exchange.respond(403, '{"reason":"Forbidden"}');
      return Promise.resolve();
    };
    const smuggled = 'GET /clusters/root/secrets HTTP/1.1\r\nhost: x\r\nx-remote-user: system:admin\r\n\r\n';
    const received = await proxy.raw(asks('SPDY/3.1') + smuggled, await proxy.identity('alice'));
    expect(received).toMatch(/^HTTP\/1\.1 403 /);
    expect(received).toMatch(/connection: close/i);
    expect(received).toContain('{"reason":"Forbidden"}');
    await eventually(() => expect(shardClosed).toBe(true));
    expect(after).toBe('');
    expect(proxy.root.requests.map(({ url }) => url)).toEqual(['/clusters/root/exec']);
  });

  test('ends when its shard dies', async () => {
    proxy.root.answer = (exchange) => {
      const taken = exchange.takeConnection?.();
      taken?.socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
      return taken === undefined ? undefined : Promise.resolve();
    };
    const socket = await proxy.socket();
    const opened = once(socket, 'data');
    socket.write(asks('x'));
    await opened;
    const closed = once(socket, 'close');
    proxy.root.connections.destroyAll();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

describe('an unresponsive shard', () => {
  test('without a listener fails requests immediately, for its own workspaces only', async () => {
    await proxy.b.stop();
    const answer = await proxy.ask('/clusters/root:org/api');
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ reason: 'ServiceUnavailable' });
    expect((await proxy.ask('/clusters/root/api')).status).toBe(200);
    expect((await proxy.ask('/clusters/root:org/api', { method: 'POST' }, 'x')).status).toBe(503);
    expect((await proxy.ask('/readyz')).status).toBe(200);
  });

  test('that accepts requests but is silent is detected, and so is its recovery', async () => {
    const silent: BaseExchange[] = [];
    proxy.b.answer = (exchange) => {
      silent.push(exchange);
      return Promise.resolve();
    };
    const read = await proxy.ask('/clusters/root:org/api');
    expect([read.status, read.headers['retry-after']]).toEqual([503, '1']);
    expect(silent.map(({ url }) => url)).toContain('/livez/ping');
    // Requests that were never sent may be retried; nothing is sent to a server that is known to be dead.
    const sent = silent.length;
    const write = await proxy.ask('/clusters/root:org/api', { method: 'POST' }, 'x');
    expect([write.status, write.headers['retry-after']]).toEqual([503, '1']);
    expect(silent.slice(sent).every(({ url }) => url === '/livez/ping')).toBe(true);
    expect((await proxy.ask('/clusters/root/api')).status).toBe(200);
    proxy.b.answer = undefined;
    await eventually(async () => expect(echoOf(await proxy.ask('/clusters/root:org/api')).shard).toBe('b'));
  });

  test('a write that may have arrived is not marked as retryable', async () => {
    proxy.b.answer = () => Promise.resolve();
    const answer = await proxy.ask('/clusters/root:org/api', { method: 'POST' }, 'x');
    expect([answer.status, answer.headers['retry-after']]).toEqual([504, undefined]);
  });

  test('that is only slow is waited for', async () => {
    const exchanges = held(proxy.b);
    const answered = proxy.ask('/clusters/root:org/slow');
    const shard = await first(exchanges);
    await eventually(() =>
      expect(proxy.b.requests.filter(({ url }) => url === '/livez/ping').length).toBeGreaterThan(1),
    );
    shard.respond(200, 'at last');
    expect((await answered).body.toString()).toBe('at last');
  });

  test('recovers at the same address', async () => {
    expect((await proxy.ask('/clusters/root:org/api')).status).toBe(200);
    const { port } = proxy.b;
    await proxy.b.stop();
    expect((await proxy.ask('/clusters/root:org/api')).status).toBe(503);
    const again = await FakeShard.start('again', {
      serving: proxy.serving,
      clientCa: [proxy.clientAuthority.pem.certificatePem],
      port,
    });
    try {
      expect(echoOf(await proxy.ask('/clusters/root:org/api')).shard).toBe('again');
    } finally {
      await again.stop();
    }
  });

  test('with an invalid certificate gets no requests', async () => {
    const strange = await FakeShard.start('strange', {
      serving: await proxy.clientAuthority.issueServer({ commonName: 'x', ipAddresses: ['127.0.0.1'] }),
      clientCa: [],
    });
    try {
      proxy.root.putShard('b', { baseURL: strange.url });
      await eventually(async () => {
        const answer = await proxy.ask('/clusters/org1/api');
        expect([answer.status, answer.body.toString()]).toEqual([502, '']);
      });
      expect(strange.requests).toEqual([]);
      const admin = await proxy.identity('root', ['system:masters']);
      const metrics = (await proxy.ask('/metrics', admin)).body.toString();
      expect(metrics).toMatch(/kcp_listener_tls_connection_error\{[^}]*error_type="unknown_ca"\} [1-9]/);
    } finally {
      await strange.stop();
    }
  });
});

test('a request loop ends', async () => {
  proxy.root.putWorkspace('root', 'loop', {
    mount: { ref: {} },
    URL: `https://127.0.0.1:${proxy.port}/clusters/root:loop`,
  });
  await eventually(async () => expect((await proxy.ask('/clusters/root:loop/api')).status).toBe(508));
});
