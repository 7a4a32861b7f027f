import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { combineCrc32, crc32Shift } from './crc32-combine.ts';

test.each([
  [0, 0],
  [5, 0],
  [0, 5],
  [1, 1],
  [1000, 65_537],
  [70_000, 1_048_575],
])('the CRC-32 of %i and %i bytes together', (first, second) => {
  const bytes = randomBytes(first + second);
  const [a, b] = [bytes.subarray(0, first), bytes.subarray(first)];
  expect(combineCrc32(crc32(a), crc32(b), crc32Shift(second))).toBe(crc32(bytes));
});
