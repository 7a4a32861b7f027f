import { expect, test } from '@jest/globals';
import { requestHead } from './request-head.ts';

const head = (request: Partial<Parameters<typeof requestHead>[0]>) =>
  requestHead({ method: 'GET', path: '/a?b', headers: [], hasBody: false, ...request }, 'host:1');

test('a request without a body', () => {
  expect(head({ headers: ['a', 'b', 'a', 'c', 'content-length', '0'] })).toEqual({
    text: 'GET /a?b HTTP/1.1\r\nhost: host:1\r\na: b\r\na: c\r\n\r\n',
    length: 0,
  });
  expect(head({ method: 'POST' }).text).toBe('POST /a?b HTTP/1.1\r\nhost: host:1\r\ncontent-length: 0\r\n\r\n');
});

test('a body has the length that was said, or comes in chunks', () => {
  expect(head({ method: 'POST', headers: ['Content-Length', '7', 'a', 'b'], hasBody: true })).toEqual({
    text: 'POST /a?b HTTP/1.1\r\nhost: host:1\r\na: b\r\ncontent-length: 7\r\n\r\n',
    length: 7,
  });
  expect(head({ method: 'PUT', hasBody: true })).toEqual({
    text: 'PUT /a?b HTTP/1.1\r\nhost: host:1\r\ntransfer-encoding: chunked\r\n\r\n',
    length: undefined,
  });
});

test.each([
  { method: 'GE T' },
  { method: 'CONNECT' },
  { path: 'a' },
  { path: '/a b' },
  { path: '/a\r\nb: c' },
  { headers: ['a', 'b\r\nc: d'] },
  { headers: ['a', 'b\nc'] },
  { headers: ['a', 'b\0'] },
  { headers: ['a', 'Ā'] },
  { headers: ['a:', 'b'] },
  { headers: ['', 'b'] },
  { headers: ['a b', 'c'] },
  { headers: ['content-length', '1'] },
  { headers: ['content-length', '1', 'content-length', '2'], hasBody: true },
  { headers: ['content-length', '1e3'], hasBody: true },
])('%j cannot be written', (request) => {
  expect(() => head(request)).toThrow(expect.objectContaining({ failure: 'request' }));
});
