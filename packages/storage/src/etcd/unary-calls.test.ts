import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Method } from './etcd-messages.ts';
import { UnaryCalls } from './unary-calls.ts';

/** A service that says what it is told. */
const echo: Method<string, string> = {
  path: '/test.Service/Echo',
  encode: (text) => Buffer.from(text),
  decode: (bytes) => bytes.toString(),
};

let server: Http2Server;
let sessions: ServerHttp2Session[];
let answer: (stream: ServerHttp2Stream, body: Buffer) => void;
let calls: UnaryCalls;
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
  calls = new UnaryCalls({ endpoints: [url()], tls: undefined });
});
afterEach(async () => {
  calls.close();
  for (const session of sessions) session.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** The request once more, in two pieces. */
function succeed(stream: ServerHttp2Stream, body: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.write(body.subarray(0, 3));
  stream.end(body.subarray(3));
}
const refuse = (stream: ServerHttp2Stream, status: number, message: string): void =>
  stream.respond({ ':status': 200, 'grpc-status': String(status), 'grpc-message': message }, { endStream: true });
const call = (text = 'x', timeoutMs = 60_000): Promise<string> => calls.call(echo, text, timeoutMs);

test('many calls share one connection, and each gets its own answer', async () => {
  const texts = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(index));
  expect(await Promise.all(texts.map((text) => call(text)))).toEqual(texts);
  expect(sessions).toHaveLength(1);
});

test('a refusal is told with its status and its text', async () => {
  answer = (stream) => refuse(stream, 11, 'etcdserver: 100%25 gone');
  await expect(call()).rejects.toThrow('11 OUT_OF_RANGE: etcdserver: 100% gone');
});

test('what is no answer of gRPC is a failure', async () => {
  answer = (stream) => stream.respond({ ':status': 503 }, { endStream: true });
  await expect(call()).rejects.toThrow('14 UNAVAILABLE: HTTP status 503');
  answer = (stream) => refuse(stream, 0, '');
  await expect(call()).rejects.toThrow('13 INTERNAL: the answer is no message');
});

test('an answer that does not come in time is a failure of its call alone', async () => {
  answer = (stream, body) => (body.includes('late') ? undefined : succeed(stream, body));
  await expect(call('late', 20)).rejects.toThrow('4 DEADLINE_EXCEEDED');
  expect(await call('other')).toBe('other');
  expect(sessions).toHaveLength(1);
});

test('a connection that breaks leaves open what became of its calls; the next call has a new one', async () => {
  answer = () => sessions[0]?.destroy();
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: Connection dropped/);
  answer = succeed;
  expect(await call('again')).toBe('again');
  expect(sessions).toHaveLength(2);
});

test('a call that the server did not look at has not left', async () => {
  answer = (stream) => stream.close(7);
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
});

test('a call without a connection has not left, and the next one is to another member', async () => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  calls = new UnaryCalls({ endpoints: [`http://127.0.0.1:${port}`, url()], tls: undefined });
  await expect(call()).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
  expect(await call('there')).toBe('there');
});

test('a client that is closed ends its calls and takes no more', async () => {
  answer = () => calls.close();
  await expect(call()).rejects.toThrow('14 UNAVAILABLE');
  await expect(call()).rejects.toThrow('No connection established');
});

test('a client may be closed before its connection is there', async () => {
  const first = call();
  calls.close();
  await expect(first).rejects.toThrow(/^14 UNAVAILABLE: No connection established/);
});
