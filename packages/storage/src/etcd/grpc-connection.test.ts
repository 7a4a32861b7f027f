import { expect, test } from '@jest/globals';
import { framed, MessageReader } from './grpc-connection.ts';

const messages = ['', 'a', 'x'.repeat(700), '', 'last'];
const bytes = Buffer.concat(messages.map((message) => framed(Buffer.from(message))));

test.each([1, 2, 4, 5, 6, 7, 300, 10_000])('messages are the same in pieces of %d bytes', (size) => {
  const read: string[] = [];
  const reader = new MessageReader((message) => read.push(message.toString()));
  for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
  expect(read).toEqual(messages);
});

test('a message is told as soon as it is whole', () => {
  const read: string[] = [];
  const reader = new MessageReader((message) => read.push(message.toString()));
  reader.take(framed(Buffer.from('one')));
  expect(read).toEqual(['one']);
  reader.take(bytes.subarray(0, 3));
  expect(read).toEqual(['one']);
});

test('what is compressed is no message: nobody has asked for it', () => {
  const reader = new MessageReader(() => undefined);
  expect(() => reader.take(Buffer.from([1, 0, 0, 0, 0]))).toThrow('no message');
});
