import { expect, test } from '@jest/globals';
import { goFloat } from './go-float.ts';

test.each([
  [0, '0'],
  [2.5, '2.5'],
  [123456, '123456'],
  [1e6, '1e+06'],
  [2147483647, '2.147483647e+09'],
  [1234567.5, '1.2345675e+06'],
  [-1e21, '-1e+21'],
  [1e-4, '0.0001'],
  [1e-5, '1e-05'],
  [1e100, '1e+100'],
])('%d is printed as %s', (value, text) => {
  expect(goFloat(value)).toBe(text);
});
