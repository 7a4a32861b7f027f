import { expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { FrameSequence } from './frame-sequence.ts';

function sequence(maxWaitingBytes = 100): {
  readonly frames: FrameSequence;
  readonly delivered: string[];
  readonly failures: () => number;
} {
  const delivered: string[] = [];
  let failures = 0;
  const frames = new FrameSequence(
    { maxWaitingBytes },
    { deliver: (frame) => delivered.push(frame.toString()), fail: () => failures++ },
  );
  return { frames, delivered, failures: () => failures };
}

test('frames are delivered in order, at once if none is being encoded', async () => {
  const { frames, delivered } = sequence();
  const [first, second] = [Promise.withResolvers<Buffer>(), Promise.withResolvers<Buffer>()];
  frames.push(Buffer.from('a'), 1);
  expect(delivered).toEqual(['a']);
  frames.push(first.promise, 1);
  frames.push(Buffer.from('c'), 1);
  frames.push(second.promise, 1);
  frames.push(Buffer.from('e'), 1);
  second.resolve(Buffer.from('d'));
  await eventLoopIdle();
  expect(delivered).toEqual(['a']);
  first.resolve(Buffer.from('b'));
  await eventLoopIdle();
  expect(delivered).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(frames.isWaiting).toBe(false);
});

test('too many bytes that wait, and a frame that cannot be encoded, fail', async () => {
  const { frames, delivered, failures } = sequence(10);
  const { promise, reject } = Promise.withResolvers<Buffer>();
  // A single one may be larger.
  frames.push(promise, 20);
  expect(failures()).toBe(0);
  frames.push(Buffer.from('b'), 1);
  expect(failures()).toBe(1);
  reject(new Error('unreadable'));
  await eventLoopIdle();
  expect(failures()).toBe(2);
  expect(delivered).toEqual([]);
});

test('nothing is delivered after the end', async () => {
  const { frames, delivered } = sequence();
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  frames.push(promise, 1);
  frames.push(Buffer.from('b'), 1);
  frames.close();
  resolve(Buffer.from('a'));
  await eventLoopIdle();
  expect(delivered).toEqual([]);
});
