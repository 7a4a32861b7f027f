import { expect, test } from '@jest/globals';
import type { CacheEvent } from '@multiplane/storage';
import { FramesInFlight } from './frames-in-flight.ts';

const event = { revision: 1 } as CacheEvent;

test('watches of the same form share the work on a frame, also if it fails', async () => {
  const frames = new FramesInFlight();
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  let encoded = 0;
  const encode = (): Promise<Buffer> => {
    encoded++;
    return promise;
  };
  const shared = [frames.of(event, 'a', encode), frames.of(event, 'a', encode)];
  expect(encoded).toBe(1);
  void frames.of(event, 'b', encode);
  void frames.of({ ...event }, 'a', encode);
  expect(encoded).toBe(3);
  resolve(Buffer.from('frame'));
  expect((await Promise.all(shared)).map(String)).toEqual(['frame', 'frame']);
  // By then the event remembers the frame.
  await expect(frames.of(event, 'a', () => Promise.reject(new Error('unreadable')))).rejects.toThrow('unreadable');
  expect(await frames.of(event, 'a', encode)).toEqual(Buffer.from('frame'));
});
