import { expect, test } from '@jest/globals';
import type { StorageEvent } from '../interface.ts';
import { EventBuffer } from './event-buffer.ts';

const put = (revision: number, length = 10): StorageEvent => ({
  type: 'put',
  key: `/registry/a/${revision}`,
  value: Buffer.alloc(length),
  revision,
  created: true,
});
const held = (buffer: EventBuffer, after: number): number[] | undefined =>
  buffer.after(after, 100)?.map(({ revision }) => revision);

test('holds the newest events within its limit, and tells a watch that is behind them to read elsewhere', () => {
  const buffer = new EventBuffer(5, 2_000);
  buffer.publish([put(6, 500), put(7, 500)]);
  expect(held(buffer, 5)).toEqual([6, 7]);
  buffer.publish([put(8, 500), put(9, 500)]);
  expect(held(buffer, 5)).toBeUndefined();
  expect(held(buffer, 6)).toEqual([7, 8, 9]);
  expect(buffer.revision).toBe(9);
});

test('drops events that are older than one interval', () => {
  const buffer = new EventBuffer(0, 1_000_000);
  for (let revision = 1; revision <= 3_000; revision++) buffer.publish([put(revision)]);
  buffer.dropAged();
  expect(held(buffer, 0)).toHaveLength(100);
  buffer.publish([put(3_001)]);
  buffer.dropAged();
  expect(held(buffer, 2_999)).toBeUndefined();
  expect(held(buffer, 3_000)).toEqual([3_001]);
  buffer.dropAged();
  expect(held(buffer, 3_000)).toBeUndefined();
  expect(held(buffer, 3_001)).toEqual([]);
  buffer.publish([put(3_002)]);
  expect(held(buffer, 3_001)).toEqual([3_002]);
});
