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
import { NodeExchange } from './test-support/node-exchange.ts';
import { UpstreamError } from './upstream-error.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

let upstream: Server;
let front: Server;
let proxy: ReverseProxy;
let handle: Handle;
let target: Partial<ForwardTarget>;
let sockets: Set<Socket>;
let asked: string[];
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
  asked = [];
  health = [];
  target = {};
  handle = (request, response) => response.end(request.url);
  upstream = await listen((request, response) => {
    asked.push(request.url ?? '');
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

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly complete: boolean;
}
function ask(path: string, method = 'GET'): Promise<Answer> {
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

test('a path of the URL stands before the path of the request', async () => {
  await start();
  target = { url: new URL(`http://127.0.0.1:${portOf(upstream)}/base/`), path: '/x?y=%2F' };
  expect((await ask('/ignored')).body).toBe('/base/x?y=%2F');
});

test('a connection that was closed while it was idle is no reason to fail', async () => {
  await start();
  expect((await ask('/1')).status).toBe(200);
  const [socket] = sockets;
  // The next request is met by the end of its connection: the upstream closes it without an answer, once.
  let closed = false;
  handle = (request, response) => {
    if (closed) response.end('again');
    else {
      closed = true;
      request.socket.destroy();
    }
  };
  expect(await ask('/2')).toMatchObject({ status: 200, body: 'again' });
  expect(socket?.destroyed).toBe(true);
  expect(asked).toEqual(['/1', '/2', '/2']);
});

test('a write is never sent twice, and is not said to have failed', async () => {
  await start();
  handle = (request) => request.socket.destroy();
  expect(await ask('/w', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
  expect(asked).toEqual(['/w']);
});

test('an answer that is no HTTP is nobody’s', async () => {
  await start();
  handle = (request) => request.socket.end('nonsense\r\n\r\n');
  expect(await ask('/x')).toMatchObject({ status: 502, body: 'malformed' });
});

test('no more requests than allowed are under way, watches counted apart', async () => {
  await start({ maxInFlight: 1, maxLongRunning: 1 });
  const waiting: ServerResponse[] = [];
  handle = (_request, response) => void waiting.push(response);
  const first = ask('/1');
  await eventually(() => expect(waiting.length).toBe(1));
  expect(await ask('/2')).toMatchObject({ status: 503, body: 'overloaded' });
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(waiting.length).toBe(2));
  expect(await ask('/watch')).toMatchObject({ status: 503, body: 'overloaded' });
  for (const response of waiting) response.end('done');
  expect([(await first).body, (await watch).body]).toEqual(['done', 'done']);
  target = {};
  handle = (_request, response) => response.end('free');
  expect((await ask('/3')).body).toBe('free');
});

test('streams of a server that stays dead end, and do not look complete', async () => {
  await start({ silenceMs: 20, probeTimeoutMs: 50, probePath: '/alive', giveUpMs: 50 });
  handle = (_request, response) => void response.write('begun');
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(asked).toEqual(['/watch']));
  // From now on it is as if it were stopped.
  handle = () => undefined;
  target = {};
  expect((await ask('/x')).status).toBe(503);
  expect(await watch).toEqual({ status: 200, body: 'begun', complete: false });
});

test('streams of a server that was only stalled go on', async () => {
  await start({ silenceMs: 20, probeTimeoutMs: 50, probePath: '/alive', giveUpMs: 300 });
  let stream: ServerResponse | undefined;
  handle = (_request, response) => {
    stream = response;
    response.write('begun ');
  };
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(stream).toBeDefined());
  handle = () => undefined;
  target = {};
  expect((await ask('/x')).status).toBe(503);
  handle = (_request, response) => response.end('well');
  await eventually(async () => expect((await ask('/x')).body).toBe('well'));
  expect(health).toEqual([false, true]);
  stream?.end('ended');
  expect(await watch).toEqual({ status: 200, body: 'begun ended', complete: true });
});

test('a write that a stalled server may have got ends as if nothing had been, or is given up', async () => {
  await start({ silenceMs: 20, probeTimeoutMs: 50, probePath: '/alive', writeGiveUpMs: 1_500, freshMs: 60_000 });
  const writes: ServerResponse[] = [];
  let stalled = true;
  handle = (request, response) => {
    if (request.method === 'POST') writes.push(response);
    else if (!stalled) response.end('well');
  };
  const first = ask('/first', 'POST');
  expect((await ask('/x')).status).toBe(503);
  stalled = false;
  await eventually(async () => expect((await ask('/x')).body).toBe('well'));
  writes[0]?.end('done');
  expect(await first).toMatchObject({ status: 200, body: 'done' });
  stalled = true;
  expect(await ask('/second', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
});

test('who waits for a write is told sooner than a watch is cut', async () => {
  await start({ silenceMs: 20, probeTimeoutMs: 50, probePath: '/alive', writeGiveUpMs: 50, freshMs: 60_000 });
  let stream: ServerResponse | undefined;
  handle = (_request, response) => {
    stream = response;
    response.write('begun ');
  };
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(stream).toBeDefined());
  handle = () => undefined;
  target = {};
  expect(await ask('/w', 'POST')).toMatchObject({ status: 504, body: 'unanswered' });
  handle = (_request, response) => response.end('well');
  await eventually(async () => expect((await ask('/x')).body).toBe('well'));
  stream?.end('ended');
  expect(await watch).toEqual({ status: 200, body: 'begun ended', complete: true });
});

test('a write never goes to a server that is dead without anybody knowing yet', async () => {
  await start({ silenceMs: 20, probeTimeoutMs: 50, probePath: '/alive', giveUpMs: 60_000, freshMs: 0 });
  expect(await ask('/1', 'POST')).toMatchObject({ status: 200 });
  expect(await ask('/2', 'POST')).toMatchObject({ status: 200 });
  expect(asked).toEqual(['/1', '/alive', '/2']);
  const answers = handle;
  handle = () => undefined;
  expect(await ask('/3', 'POST')).toMatchObject({ status: 503, body: 'unreachable' });
  expect(asked).not.toContain('/3');
  handle = answers;
  await eventually(async () => expect(await ask('/4', 'POST')).toMatchObject({ status: 200, body: '/4' }));
});

test('a stopping proxy ends streams properly and lets requests finish', async () => {
  await start();
  const responses = new Map<string, ServerResponse>();
  handle = (request, response) => {
    responses.set(request.url ?? '', response);
    response.write('a');
  };
  const slow = ask('/slow');
  await eventually(() => expect(responses.size).toBe(1));
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(responses.size).toBe(2));
  // Both answers must have begun on this side, too.
  await eventually(() => {
    proxy.endLongRunning();
    return Promise.race([watch, Promise.reject(new Error('not ended yet'))]);
  });
  expect(await watch).toEqual({ status: 200, body: 'a', complete: true });
  responses.get('/slow')?.end('b');
  expect(await slow).toEqual({ status: 200, body: 'ab', complete: true });
});

test('another identity is for new connections, requests under way keep theirs', async () => {
  const first = {};
  const source = { current: first };
  proxy = new ReverseProxy({}, { identity: source });
  let held: ServerResponse | undefined;
  handle = (_request, response) => {
    held = response;
    response.write('a');
  };
  const slow = ask('/slow');
  await eventually(() => expect(held).toBeDefined());
  const [old] = sockets;
  source.current = {};
  handle = (_request, response) => response.end('new');
  expect((await ask('/new')).body).toBe('new');
  expect(old?.destroyed).toBe(false);
  held?.end('b');
  expect((await slow).body).toBe('ab');
  await eventually(() => expect(old?.destroyed).toBe(true));
});

test('servers that nobody asks for any more are forgotten, ones in use are not', async () => {
  await start({ maxUpstreams: 1 });
  const other = await listen((_request, response) => response.end('other'));
  try {
    expect((await ask('/1')).status).toBe(200);
    target = { url: new URL(`http://127.0.0.1:${portOf(other)}`) };
    expect((await ask('/2')).body).toBe('other');
    target = {};
    let held: ServerResponse | undefined;
    handle = (_request, response) => (held = response);
    const slow = ask('/slow');
    await eventually(() => expect(held).toBeDefined());
    target = { url: new URL(`http://127.0.0.1:${portOf(other)}`) };
    expect(await ask('/3')).toMatchObject({ status: 503, body: 'overloaded' });
    held?.end();
    await slow;
  } finally {
    other.closeAllConnections();
    other.close();
  }
});

test('the server that nobody has asked for longest is forgotten first, whichever was known first', async () => {
  await start({ maxUpstreams: 2 });
  const others = [
    await listen((_request, response) => response.end('1')),
    await listen((_r, response) => response.end('2')),
  ];
  const at = (server: Server): Partial<ForwardTarget> => ({ url: new URL(`http://127.0.0.1:${portOf(server)}`) });
  try {
    await ask('/known-first');
    target = at(others[0] as Server);
    await ask('/unused-since');
    target = {};
    await ask('/used-again');
    const [kept] = sockets;
    target = at(others[1] as Server);
    expect((await ask('/third')).body).toBe('2');
    target = {};
    await ask('/still-there');
    expect([...sockets]).toEqual([kept]);
  } finally {
    for (const server of others) {
      server.closeAllConnections();
      server.close();
    }
  }
});

test('closing cuts what is under way, and nothing new begins', async () => {
  await start();
  handle = (_request, response) => void response.write('half');
  target = { longRunning: true };
  const watch = ask('/watch');
  await eventually(() => expect(asked).toEqual(['/watch']));
  await eventually(() => expect(sockets.size).toBe(1));
  await proxy.close();
  const ended = await watch;
  expect(ended.complete && ended.status === 200).toBe(false);
  expect(await ask('/x')).toMatchObject({ status: 503, body: 'unreachable' });
  dropAll();
});
