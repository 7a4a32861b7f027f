import { expect, test } from '@jest/globals';
import { illegalBase64 } from './go-types.ts';

// Positions of encoding/base64 in Go 1.25.
test.each<[string, number | undefined]>([
  ['', undefined],
  ['YQ==', undefined],
  ['YW\nI=\n', undefined],
  ['x', 0],
  ['aGk', 0],
  ['aGVsbG8', 4],
  ['YQ=', 3],
  ['YQ=x', 2],
  ['=', 0],
  ['Y=', 1],
  ['YQ==YQ==', 4],
  ['ab$d', 2],
  ['ü', 0],
])('%j', (text, position) => {
  expect(illegalBase64(text)).toBe(position);
});
