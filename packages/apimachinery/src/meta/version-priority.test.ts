import { expect, test } from '@jest/globals';
import { compareVersionPriority } from './version-priority.ts';

test('newer and more stable versions come first, strange ones last', () => {
  const ordered = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v1gamma',
    'v1.1',
  ].toSorted();
  expect(ordered.sort(compareVersionPriority)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v1.1',
    'v1gamma',
  ]);
  expect(compareVersionPriority('v1', 'v1')).toBe(0);
});
