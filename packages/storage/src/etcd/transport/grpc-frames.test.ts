import { expect, test } from '@jest/globals';
import { framed, FrameReader } from './grpc-frames.ts';

const messages = ['', 'a', 'x'.repeat(700), '', 'last'];
const bytes = Buffer.concat(messages.map((message) => framed(Buffer.from(message))));

test.each([1, 2, 4, 5, 6, 7, 300, 10_000])('messages are the same in chunks of %d bytes', (size) => {
  const read: string[] = [];
  const reader = new FrameReader((message) => read.push(message.toString()));
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  expect(read).toEqual(messages);
});

test('a message is delivered as soon as it is complete', () => {
  const read: string[] = [];
  const reader = new FrameReader((message) => read.push(message.toString()));
  reader.push(framed(Buffer.from('one')));
  expect(read).toEqual(['one']);
  reader.push(bytes.subarray(0, 3));
  expect(read).toEqual(['one']);
});

test('a compressed message is an error: the client accepts none', () => {
  const reader = new FrameReader(() => undefined);
  expect(() => reader.push(Buffer.from([1, 0, 0, 0, 0]))).toThrow('not a gRPC message');
});
