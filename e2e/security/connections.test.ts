import { connect as connectHttp2, type ClientHttp2Stream } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { HostileServer } from '../harness/hostile-server.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { RawTls } from '../harness/raw-tls.ts';

let server: HostileServer;

beforeAll(async () => {
  server = await HostileServer.start();
}, 240_000);
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(() => server.mustBeWell());

const target = (path: string): string => `/clusters/root:hostile${path}`;
const smuggled = `GET ${target('/api/v1/namespaces/e2e/configmaps/smuggled')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testTokens.masters}\r\n\r\n`;
const head = (method: string, ...lines: string[]): string =>
  [
    `${method} ${target('/api/v1/namespaces/e2e/configmaps')} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${testTokens['user-1']}`,
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');

describe('requests that two parsers would read differently', () => {
  test.each([
    [
      'Content-Length and Transfer-Encoding',
      head('POST', 'Content-Length: 4', 'Transfer-Encoding: chunked') + '0\r\n\r\n' + smuggled,
    ],
    [
      'Transfer-Encoding and Content-Length',
      head('POST', 'Transfer-Encoding: chunked', 'Content-Length: 4') + '0\r\n\r\n' + smuggled,
    ],
    ['two lengths', head('POST', 'Content-Length: 0', 'Content-Length: 50') + smuggled],
    ['a length that is no number', head('POST', 'Content-Length: 0x10') + smuggled],
    ['a negative length', head('POST', 'Content-Length: -1') + smuggled],
    ['a length with a sign', head('POST', 'Content-Length: +0') + smuggled],
    ['an unknown transfer encoding', head('POST', 'Transfer-Encoding: xchunked') + '0\r\n\r\n' + smuggled],
    ['chunked not as the last encoding', head('POST', 'Transfer-Encoding: chunked, identity') + '0\r\n\r\n' + smuggled],
    ['a tab before the colon', head('POST', 'Transfer-Encoding\t: chunked') + '0\r\n\r\n' + smuggled],
    ['a blank before the colon', head('POST', 'Content-Length : 0') + smuggled],
    [
      'a folded header',
      head('POST', 'X-A: b', ' Content-Length: 0', 'Transfer-Encoding:', ' chunked') + '0\r\n\r\n' + smuggled,
    ],
    ['a chunk size that is none', head('POST', 'Transfer-Encoding: chunked') + 'zz\r\n\r\n0\r\n\r\n' + smuggled],
    [
      'a chunk size beyond 64 bits',
      head('POST', 'Transfer-Encoding: chunked') + 'fffffffffffffffff\r\n\r\n' + smuggled,
    ],
    ['a bare line feed in a header', head('POST', 'X-A: b\nContent-Length: 0') + smuggled],
    ['a NUL in a header', head('GET', 'X-A: a\u0000b') + smuggled],
    ['a bare carriage return', head('GET', 'X-A: a\rX-B: b') + smuggled],
    ['a request line of another kind', `GET ${target('/api')} HTTP/9.9\r\nHost: localhost\r\n\r\n${smuggled}`],
    ['no version', `GET ${target('/api')}\r\n\r\n${smuggled}`],
    ['garbage', '\u0016\u0003\u0001\u0002\u0000\u0001'.repeat(20)],
  ])('%s: refused, and what follows is not read', async (_name, bytes) => {
    using connection = await RawTls.open(server.cluster);
    connection.send(bytes);
    await connection.until(() => connection.closed, 1_500);
    expect(connection.closed || connection.statuses.length > 0).toBe(true);
    expect(connection.statuses.filter((status) => status < 400)).toEqual([]);
    // The request that was hidden behind would have been answered with 404.
    expect(connection.received).not.toContain('smuggled');
  });

  test('pipelined requests are answered in their order, each as its own user', async () => {
    using connection = await RawTls.open(server.cluster);
    const get = (path: string, token: string): string =>
      `GET ${target(path)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    connection.send(
      get('/api/v1/namespaces/e2e', testTokens.masters) +
        get('/api/v1/namespaces/e2e', testTokens['user-1']) +
        get('/api/v1/namespaces/e2e', testTokens.masters),
    );
    expect(await connection.until(() => connection.statuses.length === 3)).toBe('held');
    expect(connection.statuses).toEqual([200, 403, 200]);
  });

  test('a body that the server refuses unread does not become the next request', async () => {
    using connection = await RawTls.open(server.cluster);
    // 403 before the body is needed; the body itself looks like a request.
    connection.send(head('POST', `Content-Length: ${smuggled.length}`) + smuggled);
    expect(await connection.until(() => connection.statuses.length > 0)).toBe('held');
    connection.send(head('GET'));
    await connection.until(() => connection.statuses.length > 1, 1_500);
    expect(connection.statuses[0]).toBe(403);
    expect(connection.received).not.toContain('configmaps \\"smuggled\\" not found');
  });
});

describe('connections that waste the server', () => {
  test('headers beyond their limit are refused', async () => {
    for (const lines of [[`X-Big: ${'x'.repeat(300 * 1024)}`], Array.from({ length: 1_000 }, (_, i) => `X-${i}: y`)]) {
      using connection = await RawTls.open(server.cluster);
      connection.send(head('GET', ...lines));
      await connection.until(() => connection.statuses.length > 0);
      expect([400, 413, 431]).toContain(connection.statuses[0]);
    }
  });

  test('a target of a megabyte is refused', async () => {
    using connection = await RawTls.open(server.cluster);
    connection.send(
      `GET ${target(`/api/v1/namespaces/e2e/configmaps?labelSelector=${'x'.repeat(1024 * 1024)}`)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    expect(await connection.until(() => connection.statuses.length > 0)).not.toBe('timeout');
    expect(connection.statuses.filter((status) => ![400, 414, 431].includes(status))).toEqual([]);
  });

  test('plain HTTP, half a handshake and silence do not hold it up', async () => {
    const sockets = Array.from({ length: 50 }, (_, i) => {
      const socket = connectTcp(server.cluster.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('connect', () =>
        socket.write(
          i % 3 === 0 ? 'GET / HTTP/1.1\r\nHost: x\r\n\r\n' : i % 3 === 1 ? Buffer.from([0x16, 0x03, 0x01]) : '',
        ),
      );
      return socket;
    });
    for (let i = 0; i < 5; i++) await expect(server.mustBeWell()).resolves.toBeUndefined();
    for (const socket of sockets) socket.destroy();
  });

  test('thousands of silent connections from one address do not keep newcomers out', async () => {
    const sockets: Socket[] = [];
    let connected = 0;
    for (let i = 0; i < 2_100; i++) {
      const socket = connectTcp(server.cluster.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.once('connect', () => connected++);
      sockets.push(socket);
      if (i % 100 === 99) await eventually(() => expect(connected).toBe(i + 1));
    }
    try {
      // Both from the address of the flood: a new connection that authenticates, and one that does not.
      for (const headers of [`Authorization: Bearer ${testTokens.masters}\r\n`, '']) {
        using connection = await RawTls.open(server.cluster);
        connection.send(`GET /version HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
        expect(await connection.until(() => connection.statuses.length > 0)).toBe('held');
        expect(connection.statuses).toEqual([200]);
      }
      await expect(server.mustBeWell()).resolves.toBeUndefined();
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  }, 120_000);

  test('requests that are begun and never finished do not hold it up', async () => {
    const open = await Promise.all(Array.from({ length: 50 }, () => RawTls.open(server.cluster)));
    for (const connection of open) connection.send(head('POST', 'Content-Length: 1000').slice(0, -2));
    for (let i = 0; i < 5; i++) await expect(server.mustBeWell()).resolves.toBeUndefined();
    for (const connection of open) connection[Symbol.dispose]();
  });

  test('an HTTP/2 session that opens and resets streams without end is cut off', async () => {
    const session = connectHttp2(server.cluster.url, { ca: server.cluster.ca });
    const state = { closed: false };
    session.on('error', () => undefined);
    session.on('close', () => (state.closed = true));
    const open = (): ClientHttp2Stream => {
      const stream = session.request({
        ':path': target('/api/v1/namespaces?watch=true'),
        authorization: `Bearer ${testTokens.masters}`,
      });
      stream.on('error', () => undefined);
      return stream;
    };
    // How many rounds it takes depends on the machine: the server allows so many resets at once and so many a second.
    while (!state.closed) {
      const streams: ClientHttp2Stream[] = [];
      while (streams.length < 50 && !session.closed && !session.destroyed) streams.push(open());
      // What is reset before it was sent is taken back, and what is answered whole is not reset: the server has these
      // watches when it answers what was sent behind them.
      await new Promise<void>((resolve) => {
        if (session.closed || session.destroyed || !session.ping(() => resolve())) resolve();
      });
      for (const stream of streams) stream.close(8);
      await server.mustBeWell();
    }
    expect(session.destroyed).toBe(true);
  });

  test('two hundred watches of one client end with it', async () => {
    const session = connectHttp2(server.cluster.url, { ca: server.cluster.ca });
    session.on('error', () => undefined);
    const watches = Array.from({ length: 200 }, () => {
      const stream = session.request({
        ':path': target('/api/v1/namespaces/e2e/configmaps?watch=1'),
        authorization: `Bearer ${testTokens.masters}`,
      });
      stream.on('error', () => undefined);
      return new Promise<number>((resolve) => {
        stream.on('response', (headers) => resolve(headers[':status'] ?? 0));
        stream.on('close', () => resolve(0));
      });
    });
    expect(new Set(await Promise.all(watches))).toEqual(new Set([200]));
    await server.mustBeWell();
    session.destroy();
  });
});
