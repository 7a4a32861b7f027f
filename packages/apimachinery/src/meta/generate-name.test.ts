import { expect, test } from '@jest/globals';
import { generateName, randomSuffix } from './generate-name.ts';

test('a generated name has five characters that make no words', () => {
  expect(generateName('gen-', () => 0)).toBe('gen-bbbbb');
  expect(generateName('gen-', (below) => below - 1)).toBe('gen-99999');
  expect(generateName('x'.repeat(80))).toMatch(/^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  expect(new Set(Array.from({ length: 100 }, () => randomSuffix(8))).size).toBe(100);
});
