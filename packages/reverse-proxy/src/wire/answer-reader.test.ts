import { expect, test } from '@jest/globals';
import { AnswerReader } from './answer-reader.ts';

type Event =
  | readonly ['head', number, readonly string[]]
  | readonly ['data', string]
  | readonly ['end', readonly string[]];

/** What is read of bytes that come in pieces of a size; what came of one body is joined. */
function read(text: string, { method = 'GET', size = text.length, ends = false } = {}) {
  const events: Event[] = [];
  const reader = new AnswerReader(
    { maxHeaderBytes: 200 },
    {
      sink: {
        onHead: (status, headers) => void events.push(['head', status, headers]),
        onData: (chunk) => {
          const last = events.at(-1);
          if (last?.[0] === 'data') events[events.length - 1] = ['data', last[1] + chunk.toString('latin1')];
          else events.push(['data', chunk.toString('latin1')]);
        },
        onEnd: (trailers) => void events.push(['end', trailers]),
      },
    },
  );
  reader.begin(method);
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  const finished = ends && reader.finish();
  return { events, keepsAlive: reader.keepsAlive, idleHintMs: reader.idleHintMs, finished };
}

const sizes = [1, 2, 3, 5, 1000];

test.each(sizes)('an answer with a length, in pieces of %d bytes', (size) => {
  const text = 'HTTP/1.1 200 OK\r\nContent-Type: \ta/b \r\nX: \xe9\r\nx:\r\nContent-Length: 5\r\n\r\nhello';
  expect(read(text, { size })).toMatchObject({
    events: [
      ['head', 200, ['content-type', 'a/b', 'x', '\xe9', 'x', '', 'content-length', '5']],
      ['data', 'hello'],
      ['end', []],
    ],
    keepsAlive: true,
  });
});

test.each(sizes)('an answer in chunks with trailers, in pieces of %d bytes', (size) => {
  const text =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nC ;x=y\r\n, big\r\nworld\r\n0\r\nA: b\r\nC: d\r\n\r\n';
  expect(read(text, { size })).toMatchObject({
    events: [
      ['head', 200, ['transfer-encoding', 'Chunked']],
      ['data', 'hello, big\r\nworld'],
      ['end', ['a', 'b', 'c', 'd']],
    ],
    keepsAlive: true,
  });
});

test.each(sizes)('what comes before an answer is told apart from it, in pieces of %d bytes', (size) => {
  const text = 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n';
  expect(read(text, { size }).events).toEqual([
    ['head', 103, ['link', 'x']],
    ['head', 204, []],
    ['end', []],
  ]);
});

test('an answer without a length lasts until the end of the connection, and no other follows', () => {
  const answer = read('HTTP/1.1 200\r\n\r\nall of it', { ends: true });
  expect(answer).toMatchObject({ finished: true, keepsAlive: false });
  expect(answer.events).toEqual([
    ['head', 200, []],
    ['data', 'all of it'],
    ['end', []],
  ]);
});

test.each([
  'HTTP/1.1 200\r\ncontent-length: 3\r\n\r\nab',
  'HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n',
])('half an answer is not complete: %j', (text) => {
  const { events, finished } = read(text, { ends: true });
  expect(finished).toBe(false);
  expect(events.some(([kind]) => kind === 'end')).toBe(false);
});

test.each([
  ['GET', 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', true],
  ['GET', 'HTTP/1.1 200\r\nconnection: x, Close\r\ncontent-length: 0\r\n\r\n', false],
  ['GET', 'HTTP/1.0 200\r\ncontent-length: 0\r\n\r\n', false],
  ['GET', 'HTTP/1.0 200\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n', true],
  ['GET', 'HTTP/1.1 304\r\ncontent-length: 7\r\n\r\n', false],
  ['GET', 'HTTP/1.1 304\r\n\r\n', true],
  ['HEAD', 'HTTP/1.1 200\r\ncontent-length: 7\r\n\r\n', false],
])('%s, %j: whether another may follow is %p', (method, text, keepsAlive) => {
  const answer = read(text, { method });
  expect(answer.events.at(-1)).toEqual(['end', []]);
  expect(answer.keepsAlive).toBe(keepsAlive);
});

test('the server says how long it keeps the connection', () => {
  expect(read('HTTP/1.1 204\r\nkeep-alive: max=3, timeout=5\r\n\r\n').idleHintMs).toBe(5_000);
  expect(read('HTTP/1.1 204\r\n\r\n').idleHintMs).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ['bytes behind it', 'HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nab'],
  ['a second answer', 'HTTP/1.1 204\r\n\r\nHTTP/1.1 204\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na'],
  ['a signed length', 'HTTP/1.1 200\r\ncontent-length: +1\r\n\r\na'],
  ['a list of lengths', 'HTTP/1.1 200\r\ncontent-length: 1, 1\r\n\r\na'],
  ['a length and chunks', 'HTTP/1.1 200\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['another encoding', 'HTTP/1.1 200\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['chunks of HTTP/1.0', 'HTTP/1.0 200\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a chunk without a size', 'HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n\r\n'],
  ['a chunk of a negative size', 'HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n'],
  ['a chunk that is longer', 'HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['a chunk line that ends in a line feed', 'HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n1\nab\r\n'],
  ['a folded header', 'HTTP/1.1 200\r\na: b\r\n c\r\n\r\n'],
  ['a blank before the colon', 'HTTP/1.1 200\r\na : b\r\n\r\n'],
  ['a line without a colon', 'HTTP/1.1 200\r\nab\r\ncontent-length: 0\r\n\r\n'],
  ['a lone line feed', 'HTTP/1.1 200\r\na: b\nc: d\r\n\r\n'],
  ['a lone carriage return', 'HTTP/1.1 200\r\na: b\rc: d\r\n\r\n'],
  ['a zero byte', 'HTTP/1.1 200\r\na: b\0\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['no status', 'HTTP/1.1 20x\r\n\r\n'],
  ['a long head', `HTTP/1.1 200 OK\r\na: ${'b'.repeat(300)}`],
  ['long trailers', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: ${'b'.repeat(300)}`],
])('%s is no answer', (_what, text) => {
  for (const size of sizes) expect(() => read(text, { size })).toThrow(expect.objectContaining({ failure: 'answer' }));
});
