import { expect, test } from '@jest/globals';
import { fieldErrorText, FieldPath } from './field-error.ts';
import { fieldManagerFromUserAgent, validateFieldManager } from './field-manager.ts';

test('a manager is made from the User-Agent', () => {
  expect(fieldManagerFromUserAgent('kubectl/v1.30 (linux/amd64)')).toBe('kubectl');
  expect(fieldManagerFromUserAgent('curl')).toBe('curl');
  expect(fieldManagerFromUserAgent('')).toBe('');
  expect(fieldManagerFromUserAgent('ä'.repeat(100))).toBe('ä'.repeat(64));
  expect(fieldManagerFromUserAgent('a b\u0001c')).toBe('a b');
});

test('positions count bytes', () => {
  const path = FieldPath.of('fieldManager');
  expect(validateFieldManager('ä b😀', path)).toEqual([]);
  expect(validateFieldManager('ä\u200b', path).map(fieldErrorText)).toEqual([
    String.raw`fieldManager: Invalid value: "ä\u200b": invalid character U+200B (at position 2)`,
  ]);
});
