import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { ReverseProxy, type ForwardTarget, type ReverseProxyOptions } from './reverse-proxy.ts';
import { NodeExchange } from '../test/node-exchange.ts';
import { UpstreamError } from './upstream-error.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

let upstream: Server;
let front: Server;
let proxy: ReverseProxy;
let handle: Handle;
let target: Partial<ForwardTarget>;
let sockets: Set<Socket>;
let requests: string[];
let health: boolean[];
const identity = { current: {} };

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
async function listen(handler: Handle): Promise<Server> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function start(options: Partial<ReverseProxyOptions> = {}): Promise<void> {
  proxy = new ReverseProxy(options, { identity, onHealth: (_origin, alive) => void health.push(alive) });
}
beforeEach(async () => {
  sockets = new Set();
  requests = [];
  health = [];
  target = {};
  handle = (request, response) => response.end(request.url);
  upstream = await listen((request, response) => {
    requests.push(request.url ?? '');
    handle(request, response);
  });
  upstream.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  front = await listen((request, response) => {
    const url = new URL(`http://127.0.0.1:${portOf(upstream)}`);
    proxy.forward(new NodeExchange(request, response), { url, ...target }).catch((error: unknown) => {
      const failure = error instanceof UpstreamError ? error : undefined;
      response.writeHead(failure?.status ?? 500).end(failure?.failure ?? 'fault');
    });
  });
});
afterEach(async () => {
  await proxy.close();
  for (const server of [front, upstream]) {
    server.closeAllConnections();
    server.close();
  }
});

interface TestResponse {
  readonly status: number;
  readonly body: string;
  readonly complete: boolean;
}
function send(path: string, method = 'GET'): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port: portOf(front), path, method, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('error', () => undefined);
      response.on('close', () => resolve({ status: response.statusCode ?? 0, body, complete: response.complete }));
    });
    request.on('error', reject);
    request.end();
  });
}
const dropAll = (): void => {
  for (const socket of sockets) socket.destroy();
};

test('prepends the path of the URL', async () => {
  await start();
  target = { url: new URL(`http://127.0.0.1:${portOf(upstream)}/base/`), path: '/x?y=%2F' };
  expect((await send('/ignored')).body).toBe('/base/x?y=%2F');
});

test('retries a safe request on a connection that was closed while idle', async () => {
  await start();
  expect((await send('/1')).status).toBe(200);
  const [socket] = sockets;
  // The upstream closes the connection of the next request without a response, once.
  let closed = false;
  handle = (request, response) => {
    if (closed) response.end('again');
    else {
      closed = true;
      request.socket.destroy();
    }
  };
  expect(await send('/2')).toMatchObject({ status: 200, body: 'again' });
  expect(socket?.destroyed).toBe(true);
  expect(requests).toEqual(['/1', '/2', '/2']);
});

test('never retries a write and reports its outcome as unknown', async () => {
  await start();
  handle = (request) => request.socket.destroy();
  expect(await send('/w', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
  expect(requests).toEqual(['/w']);
});

test('rejects a response that is not HTTP', async () => {
  await start();
  handle = (request) => request.socket.end('nonsense\r\n\r\n');
  expect(await send('/x')).toMatchObject({ status: 502, body: 'malformed' });
});

test('limits concurrent requests, and watches separately', async () => {
  await start({ maxInFlight: 1, maxLongRunning: 1 });
  const waiting: ServerResponse[] = [];
  handle = (_request, response) => void waiting.push(response);
  const first = send('/1');
  await eventually(() => expect(waiting.length).toBe(1));
  expect(await send('/2')).toMatchObject({ status: 503, body: 'overloaded' });
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(waiting.length).toBe(2));
  expect(await send('/watch')).toMatchObject({ status: 503, body: 'overloaded' });
  for (const response of waiting) response.end('done');
  expect([(await first).body, (await watch).body]).toEqual(['done', 'done']);
  target = {};
  handle = (_request, response) => response.end('free');
  expect((await send('/3')).body).toBe('free');
});

test('aborts the streams of a server that stays down', async () => {
  await start({ probeAfterMs: 20, probeTimeoutMs: 50, probePath: '/alive', streamGiveUpMs: 50 });
  handle = (_request, response) => void response.write('begun');
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(requests).toEqual(['/watch']));
  // From now on the server behaves as if stopped.
  handle = () => undefined;
  target = {};
  expect((await send('/x')).status).toBe(503);
  expect(await watch).toEqual({ status: 200, body: 'begun', complete: false });
});

test('keeps the streams of a server that was only stalled', async () => {
  await start({ probeAfterMs: 20, probeTimeoutMs: 50, probePath: '/alive', streamGiveUpMs: 300 });
  let stream: ServerResponse | undefined;
  handle = (_request, response) => {
    stream = response;
    response.write('begun ');
  };
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(stream).toBeDefined());
  handle = () => undefined;
  target = {};
  expect((await send('/x')).status).toBe(503);
  handle = (_request, response) => response.end('well');
  await eventually(async () => expect((await send('/x')).body).toBe('well'));
  expect(health).toEqual([false, true]);
  stream?.end('ended');
  expect(await watch).toEqual({ status: 200, body: 'begun ended', complete: true });
});

test('completes a write after a stall, and fails it when the stall lasts', async () => {
  await start({
    probeAfterMs: 20,
    probeTimeoutMs: 50,
    probePath: '/alive',
    writeGiveUpMs: 1_500,
    maxActivityAgeMs: 60_000,
  });
  const writes: ServerResponse[] = [];
  let stalled = true;
  handle = (request, response) => {
    if (request.method === 'POST') writes.push(response);
    else if (!stalled) response.end('well');
  };
  const first = send('/first', 'POST');
  expect((await send('/x')).status).toBe(503);
  stalled = false;
  await eventually(async () => expect((await send('/x')).body).toBe('well'));
  writes[0]?.end('done');
  expect(await first).toMatchObject({ status: 200, body: 'done' });
  stalled = true;
  expect(await send('/second', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
});

test('fails a write with unknown outcome before it aborts watches', async () => {
  await start({
    probeAfterMs: 20,
    probeTimeoutMs: 50,
    probePath: '/alive',
    writeGiveUpMs: 50,
    maxActivityAgeMs: 60_000,
  });
  let stream: ServerResponse | undefined;
  handle = (_request, response) => {
    stream = response;
    response.write('begun ');
  };
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(stream).toBeDefined());
  handle = () => undefined;
  target = {};
  expect(await send('/w', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
  handle = (_request, response) => response.end('well');
  await eventually(async () => expect((await send('/x')).body).toBe('well'));
  stream?.end('ended');
  expect(await watch).toEqual({ status: 200, body: 'begun ended', complete: true });
});

test('probes before a write if the upstream was not active recently', async () => {
  await start({
    probeAfterMs: 20,
    probeTimeoutMs: 50,
    probePath: '/alive',
    streamGiveUpMs: 60_000,
    maxActivityAgeMs: 0,
  });
  expect(await send('/1', 'POST')).toMatchObject({ status: 200 });
  expect(await send('/2', 'POST')).toMatchObject({ status: 200 });
  expect(requests).toEqual(['/1', '/alive', '/2']);
  const answers = handle;
  handle = () => undefined;
  expect(await send('/3', 'POST')).toMatchObject({ status: 503, body: 'unreachable' });
  expect(requests).not.toContain('/3');
  handle = answers;
  await eventually(async () => expect(await send('/4', 'POST')).toMatchObject({ status: 200, body: '/4' }));
});

test('ends streams properly on shutdown and lets requests finish', async () => {
  await start();
  const responses = new Map<string, ServerResponse>();
  handle = (request, response) => {
    responses.set(request.url ?? '', response);
    response.write('a');
  };
  const slow = send('/slow');
  await eventually(() => expect(responses.size).toBe(1));
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(responses.size).toBe(2));
  // Both responses must have started at the client, too.
  await eventually(() => {
    proxy.endLongRunning();
    return Promise.race([watch, Promise.reject(new Error('not ended yet'))]);
  });
  expect(await watch).toEqual({ status: 200, body: 'a', complete: true });
  responses.get('/slow')?.end('b');
  expect(await slow).toEqual({ status: 200, body: 'ab', complete: true });
});

test('uses a new identity for new connections; requests in flight keep theirs', async () => {
  const first = {};
  const source = { current: first };
  proxy = new ReverseProxy({}, { identity: source });
  let held: ServerResponse | undefined;
  handle = (_request, response) => {
    held = response;
    response.write('a');
  };
  const slow = send('/slow');
  await eventually(() => expect(held).toBeDefined());
  const [old] = sockets;
  source.current = {};
  handle = (_request, response) => response.end('new');
  expect((await send('/new')).body).toBe('new');
  expect(old?.destroyed).toBe(false);
  held?.end('b');
  expect((await slow).body).toBe('ab');
  await eventually(() => expect(old?.destroyed).toBe(true));
});

test('evicts unused upstreams, but none in use', async () => {
  await start({ maxUpstreams: 1 });
  const other = await listen((_request, response) => response.end('other'));
  try {
    expect((await send('/1')).status).toBe(200);
    target = { url: new URL(`http://127.0.0.1:${portOf(other)}`) };
    expect((await send('/2')).body).toBe('other');
    target = {};
    let held: ServerResponse | undefined;
    handle = (_request, response) => (held = response);
    const slow = send('/slow');
    await eventually(() => expect(held).toBeDefined());
    target = { url: new URL(`http://127.0.0.1:${portOf(other)}`) };
    expect(await send('/3')).toMatchObject({ status: 503, body: 'overloaded' });
    held?.end();
    await slow;
  } finally {
    other.closeAllConnections();
    other.close();
  }
});

test('evicts the least recently used upstream first', async () => {
  await start({ maxUpstreams: 2 });
  const others = [
    await listen((_request, response) => response.end('1')),
    await listen((_r, response) => response.end('2')),
  ];
  const at = (server: Server): Partial<ForwardTarget> => ({ url: new URL(`http://127.0.0.1:${portOf(server)}`) });
  try {
    await send('/known-first');
    target = at(others[0] as Server);
    await send('/unused-since');
    target = {};
    await send('/used-again');
    const [kept] = sockets;
    target = at(others[1] as Server);
    expect((await send('/third')).body).toBe('2');
    target = {};
    await send('/still-there');
    expect([...sockets]).toEqual([kept]);
  } finally {
    for (const server of others) {
      server.closeAllConnections();
      server.close();
    }
  }
});

test('close aborts requests in flight and rejects new ones', async () => {
  await start();
  handle = (_request, response) => void response.write('half');
  target = { longRunning: true };
  const watch = send('/watch');
  await eventually(() => expect(requests).toEqual(['/watch']));
  await eventually(() => expect(sockets.size).toBe(1));
  await proxy.close();
  const ended = await watch;
  expect(ended.complete && ended.status === 200).toBe(false);
  expect(await send('/x')).toMatchObject({ status: 503, body: 'unreachable' });
  dropAll();
});
