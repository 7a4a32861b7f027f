import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/component-base';
import { eventually } from '@multiplane/testing';
import { ConnectionPool } from './connection-pool.ts';
import type { RequestControl } from './connection.ts';

let server: Server;
let sockets: Socket[];
/** What came, by connection. */
let received: string[];
let clock: FakeClock;
let pool: ConnectionPool;
const empty = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

beforeEach(async () => {
  sockets = [];
  received = [];
  clock = new FakeClock();
  server = createServer((socket) => {
    const index = sockets.push(socket) - 1;
    received.push('');
    socket.on('error', () => undefined);
    socket.on('data', (data) => (received[index] += data.toString('latin1')));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  pool = open();
});
afterEach(() => {
  pool.destroy();
  for (const socket of sockets) socket.destroy();
  server.close();
});

function open(maxConnections = 8): ConnectionPool {
  const { port } = server.address() as AddressInfo;
  return new ConnectionPool(
    { origin: `http://127.0.0.1:${port}`, maxConnections, idleTimeoutMs: 10_000, maxHeaderBytes: 1024 },
    {
      clock,
      connect: (_target, callback) => {
        const socket = connect(port, '127.0.0.1', () => callback(null, socket));
      },
    },
  );
}

class Asked {
  readonly done: Promise<string>;
  control: RequestControl | undefined;
  status = 0;
  body = '';
  constructor(path: string, { body, headers = [] }: { body?: Readable; headers?: string[] } = {}) {
    this.done = new Promise((resolve) => {
      pool.dispatch(
        { method: body === undefined ? 'GET' : 'POST', path, headers, body },
        {
          onRequestStart: (control) => (this.control = control),
          onResponseStart: (_control, status) => (this.status = status),
          onResponseData: (_control, chunk) => (this.body += chunk.toString()),
          onResponseEnd: (_control, trailers) => resolve(['ended', ...trailers].join(' ')),
          onResponseError: (error) => resolve(error.message),
        },
      );
    });
  }
}
const requests = (index: number): number => (received[index] ?? '').split('HTTP/1.1\r\n').length - 1;
const arrived = (index: number, count = 1): Promise<void> => eventually(() => expect(requests(index)).toBe(count));

test('a connection serves one request after the other', async () => {
  const first = new Asked('/1');
  await arrived(0);
  sockets[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab');
  expect([await first.done, first.status, first.body]).toEqual(['ended', 200, 'ab']);
  const second = new Asked('/2');
  await arrived(0, 2);
  sockets[0]?.write(empty);
  expect([await second.done, sockets.length]).toEqual(['ended', 1]);
});

test('requests wait for a connection when there may be no more', async () => {
  pool.destroy();
  pool = open(1);
  const asked = [new Asked('/1'), new Asked('/2'), new Asked('/3')];
  for (let i = 0; i < asked.length; i++) {
    await arrived(0, i + 1);
    sockets[0]?.write(empty);
    expect(await asked[i]?.done).toBe('ended');
  }
  expect(sockets.length).toBe(1);
});

test('what comes while nobody asked is nobody’s answer', async () => {
  const first = new Asked('/1');
  await arrived(0);
  sockets[0]?.write(empty + empty.replace('200', '201'));
  expect([await first.done, first.status]).toEqual(['ended', 200]);
  const second = new Asked('/2');
  await arrived(1);
  sockets[1]?.write(empty);
  expect([await second.done, second.status, requests(0)]).toEqual(['ended', 200, 1]);
});

test('a connection that was closed while it was idle gets no request', async () => {
  const first = new Asked('/1');
  await arrived(0);
  sockets[0]?.end(empty);
  await first.done;
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
  const second = new Asked('/2');
  await arrived(1);
  sockets[1]?.write(empty);
  expect([await second.done, requests(0)]).toEqual(['ended', 1]);
});

test('an idle connection is not used beyond its time, nor beyond what the server said', async () => {
  for (const [keepAlive, ms] of [
    ['', 10_000],
    ['keep-alive: timeout=5\r\n', 4_000],
  ] as const) {
    const before = sockets.length;
    const first = new Asked('/1');
    await arrived(before);
    sockets[before]?.write(empty.replace('\r\n', `\r\n${keepAlive}`));
    await first.done;
    await clock.advance(ms);
    const second = new Asked('/2');
    await arrived(before + 1);
    sockets[before + 1]?.end(empty.replace('\r\n', '\r\nconnection: close\r\n'));
    await second.done;
    expect(requests(before)).toBe(1);
  }
});

test('idle connections are closed', async () => {
  const first = new Asked('/1');
  await arrived(0);
  sockets[0]?.write(empty);
  await first.done;
  await clock.advance(5_000);
  expect(sockets[0]?.destroyed).toBe(false);
  await clock.advance(5_000);
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
});

test('a body goes in chunks or with its length, and its end is the end of the request', async () => {
  const chunks = new PassThrough();
  const first = new Asked('/1', { body: chunks });
  chunks.write('hello');
  await eventually(() => expect(received[0]).toMatch(/transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n$/));
  chunks.end('!');
  await eventually(() => expect(received[0]).toMatch(/1\r\n!\r\n0\r\n\r\n$/));
  sockets[0]?.write(empty);
  expect(await first.done).toBe('ended');
  const sized = new PassThrough();
  const second = new Asked('/2', { body: sized, headers: ['content-length', '5'] });
  sized.end('hello');
  await eventually(() => expect(received[0]).toMatch(/content-length: 5\r\n\r\nhello$/));
  sockets[0]?.write(empty);
  expect([await second.done, sockets.length]).toEqual(['ended', 1]);
});

test('an answer that did not wait for the body ends the connection', async () => {
  const body = new PassThrough();
  const first = new Asked('/1', { body });
  body.write('a');
  await eventually(() => expect(received[0]).toMatch(/1\r\na\r\n$/));
  sockets[0]?.write(empty);
  expect(await first.done).toBe('ended');
  expect(body.destroyed).toBe(true);
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
});

test.each(['ab', 'abcd'])('a body that is %j and not of three bytes breaks the connection', async (text) => {
  const body = new PassThrough();
  const first = new Asked('/1', { body, headers: ['content-length', '3'] });
  body.end(text);
  expect(await first.done).toBe('a body of another length than was said');
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
});

test('a body that breaks off, also while it waits, is not a shorter one', async () => {
  const waiting = new PassThrough();
  const first = new Asked('/1', { body: waiting });
  waiting.destroy(new Error('broke off'));
  expect(await first.done).toBe('broke off');
  const body = new PassThrough();
  const second = new Asked('/2', { body });
  body.write('a');
  await eventually(() => expect(received[0]).toMatch(/1\r\na\r\n$/));
  body.destroy(new Error('broke off'));
  expect(await second.done).toBe('broke off');
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
  expect(received[0]).not.toContain('0\r\n\r\n');
});

test('a request that is given up takes its connection along, and nobody else’s', async () => {
  const [first, second] = [new Asked('/1'), new Asked('/2')];
  await arrived(0);
  await arrived(1);
  first.control?.abort(new Error('given up'));
  expect(await first.done).toBe('given up');
  await eventually(() => expect(sockets.filter(({ destroyed }) => destroyed).length).toBe(1));
  sockets.find(({ destroyed }) => !destroyed)?.write(empty);
  expect(await second.done).toBe('ended');
});

test('who is slow to read holds the server back', async () => {
  const first = new Asked('/1');
  await arrived(0);
  sockets[0]?.write('HTTP/1.1 200 OK\r\n\r\n');
  await eventually(() => expect(first.status).toBe(200));
  first.control?.pause();
  const part = Buffer.alloc(1 << 20, 'x');
  let written = 0;
  while (sockets[0]?.write(part) === true || (sockets[0]?.writableLength ?? 0) < 8 * part.length) written++;
  const other = new Asked('/2');
  await arrived(1);
  sockets[1]?.write(empty);
  await other.done;
  expect(first.body.length).toBe(0);
  first.control?.resume();
  sockets[0]?.end();
  expect(await first.done).toBe('ended');
  expect(first.body.length).toBe((written + 1) * part.length);
});

test('closing lets requests finish, destroying does not', async () => {
  const [first, second] = [new Asked('/1'), new Asked('/2')];
  await arrived(0);
  await arrived(1);
  pool.close();
  const index = received[0]?.startsWith('GET /1') === true ? 0 : 1;
  sockets[index]?.write(empty);
  expect(await first.done).toBe('ended');
  await eventually(() => expect(sockets[index]?.destroyed).toBe(true));
  pool.destroy();
  expect(await second.done).toBe('the connection was given up');
  expect(await new Asked('/3').done).toBe('the connections were given up');
});
