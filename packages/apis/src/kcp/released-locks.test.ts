import { expect, test } from '@jest/globals';
import { releasedLocks } from './released-locks.ts';

test.each([
  ['{}', '{"a.x":{"n":"one"}}', []],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"n":"one"},"b.x":{"c":true}}', []],
  ['{"a.x":{"n":"one"},"b.x":{"n":"one"}}', '{"b.x":{"n":"one"}}', ['a.x']],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"n":"two"}}', ['a.x']],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"c":true}}', ['a.x']],
  ['{"a.x":{"c":true,"e":"2026-01-01T00:00:00Z"}}', '{"a.x":{"c":true}}', []],
  ['{"a.x":{"n":"one"}}', undefined, ['a.x']],
  [undefined, '{"a.x":{"n":"one"}}', []],
])('from %s to %s may have become free: %j', (before, after, names) => {
  expect(releasedLocks(before, after)).toEqual(names);
});
