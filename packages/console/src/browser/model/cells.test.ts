import { expect, test } from '@jest/globals';
import { ageText } from './age.ts';
import { compareCells } from './compare-cells.ts';
import { conditionTone, phaseTone } from './tone.ts';

test('a column is sorted by numbers and by texts with the numbers in them; what is missing comes last', () => {
  expect([10, 9, undefined, 100].sort(compareCells)).toEqual([9, 10, 100, undefined]);
  expect(['web-10', '', 'web-9', 'API'].sort(compareCells)).toEqual(['API', 'web-9', 'web-10', '']);
});

test.each([
  [45, '45s'],
  [119, '119s'],
  [185, '3m5s'],
  [3600, '60m'],
  [4 * 3600 + 120, '4h2m'],
  [30 * 3600, '30h'],
  [3 * 86_400 + 3600, '3d1h'],
  [200 * 86_400, '200d'],
  [800 * 86_400, '2y70d'],
])('an age of %d seconds is %s', (seconds, text) => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(ageText(new Date(now - seconds * 1000).toISOString(), now)).toBe(text);
});

test.each([
  ['Ready', 'True', 'good'],
  ['Ready', 'False', 'bad'],
  ['Established', 'False', 'warn'],
  ['Ready', 'Unknown', 'neutral'],
  ['BindingUpToDate', 'True', 'good'],
  ['NamespaceDeletionContentFailure', 'True', 'bad'],
  ['NamespaceDeletionContentFailure', 'False', 'good'],
] as const)('condition %s=%s is %s', (type, status, tone) => {
  expect(conditionTone({ type, status })).toBe(tone);
});

test('an unknown phase has no colour', () => expect(phaseTone('Simmering')).toBe('neutral'));
