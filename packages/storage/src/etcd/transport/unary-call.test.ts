import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { GrpcSession } from './grpc-session.ts';
import { unaryCall, type UnaryMethod } from './unary-call.ts';

/** A service that returns its request. */
const echo: UnaryMethod<string, string> = {
  path: '/test.Service/Echo',
  encode: (text) => Buffer.from(text),
  decode: (bytes) => bytes.toString(),
};

let server: Http2Server;
let sessions: ServerHttp2Session[];
let answer: (stream: ServerHttp2Stream, body: Buffer) => void;
let client: GrpcSession;
const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeEach(async () => {
  sessions = [];
  answer = succeed;
  server = createServer();
  server.on('session', (session) => void sessions.push(session));
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answer(stream, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new GrpcSession({ endpoints: [url()], tls: undefined });
});
afterEach(async () => {
  client.close();
  for (const session of sessions) session.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Returns the request in two chunks. */
function succeed(stream: ServerHttp2Stream, body: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.write(body.subarray(0, 3));
  stream.end(body.subarray(3));
}
const refuse = (stream: ServerHttp2Stream, status: number, message: string): void =>
  stream.respond({ ':status': 200, 'grpc-status': String(status), 'grpc-message': message }, { endStream: true });
const call = (text = 'x', timeoutMs = 60_000): Promise<string> => unaryCall(client, echo, text, timeoutMs);

test('many calls share one connection, and each gets its own response', async () => {
  const texts = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(index));
  expect(await Promise.all(texts.map((text) => call(text)))).toEqual(texts);
  expect(sessions).toHaveLength(1);
});

test('an error of the server has its status and its text', async () => {
  answer = (stream) => refuse(stream, 11, 'etcdserver: 100%25 gone');
  await expect(call()).rejects.toThrow('11 OUT_OF_RANGE: etcdserver: 100% gone');
});

test('a response that is not gRPC is a failure', async () => {
  answer = (stream) => stream.respond({ ':status': 503 }, { endStream: true });
  await expect(call()).rejects.toThrow('14 UNAVAILABLE: HTTP status 503');
  answer = (stream) => refuse(stream, 0, '');
  await expect(call()).rejects.toThrow('13 INTERNAL: the response has no message');
});

test('the deadline of a call ends that call alone', async () => {
  answer = (stream, body) => (body.includes('late') ? undefined : succeed(stream, body));
  await expect(call('late', 20)).rejects.toThrow('4 DEADLINE_EXCEEDED');
  expect(await call('other')).toBe('other');
  expect(sessions).toHaveLength(1);
});

test('calls on a broken connection have an unknown outcome; the next call connects again', async () => {
  answer = () => sessions[0]?.destroy();
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: Connection dropped/);
  answer = succeed;
  expect(await call('again')).toBe('again');
  expect(sessions).toHaveLength(2);
});

test('a refused stream counts as unsent', async () => {
  answer = (stream) => stream.close(7);
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
});

test('a call without a connection counts as unsent, and the next one connects to another member', async () => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  client = new GrpcSession({ endpoints: [`http://127.0.0.1:${port}`, url()], tls: undefined });
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
  expect(await call('there')).toBe('there');
});

test('a closed client fails its calls and further ones', async () => {
  answer = () => client.close();
  await expect(call()).rejects.toThrow('14 UNAVAILABLE');
  await expect(call()).rejects.toThrow('No connection established');
});

test('a client that is closed before the connection is established fails its calls as unsent', async () => {
  const first = call();
  client.close();
  await expect(first).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
});
