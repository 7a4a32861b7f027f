import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from './eventually.ts';
import { TcpProxy } from './tcp-proxy.ts';

let echo: Server;
let proxy: TcpProxy;

beforeEach(async () => {
  echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await TcpProxy.start((echo.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  echo.close();
});

/** A client whose received text and failure can be looked at. */
function client(): { socket: Socket; received: () => string; failure: () => string | undefined } {
  let text = '';
  let code: string | undefined;
  const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
  socket.on('data', (chunk: string) => (text += chunk));
  socket.on('error', (error: NodeJS.ErrnoException) => (code = error.code));
  return { socket, received: () => text, failure: () => code };
}

test('forwards in both directions', async () => {
  const { socket, received } = client();
  socket.write('hello');
  await eventually(() => expect(received()).toBe('hello'));
  expect(proxy.connections).toBe(1);
  socket.end();
  await eventually(() => expect(proxy.connections).toBe(0));
});

test('resets in the middle of a response, after exactly the given number of bytes', async () => {
  const { socket, received, failure } = client();
  const cut = proxy.cutAfter(7);
  socket.write('0123456789');
  await cut;
  await eventually(() => expect(failure()).toBe('ECONNRESET'));
  expect('0123456'.startsWith(received())).toBe(true);
  const second = client();
  second.socket.write('again');
  await eventually(() => expect(second.received()).toBe('again'));
  expect(proxy.accepted).toBe(2);
  second.socket.destroy();
});

test('forwards nothing while paused, and keeps the connection', async () => {
  const { socket, received } = client();
  socket.write('a');
  await eventually(() => expect(received()).toBe('a'));
  proxy.pause();
  socket.write('b');
  const witness = connect((echo.address() as AddressInfo).port);
  witness.write('x');
  await once(witness, 'data');
  witness.destroy();
  expect(received()).toBe('a');
  proxy.resume();
  await eventually(() => expect(received()).toBe('ab'));
  socket.destroy();
});

test('refuses connections until accept', async () => {
  proxy.refuse();
  const { failure, socket } = client();
  socket.write('a');
  await eventually(() => expect(failure()).toBeDefined());
  proxy.accept();
  const second = client();
  second.socket.write('b');
  await eventually(() => expect(second.received()).toBe('b'));
  second.socket.destroy();
});
