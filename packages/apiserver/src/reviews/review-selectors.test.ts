import { expect, test } from '@jest/globals';
import { understoodSelector, type ReviewSelector } from './review-selectors.ts';

const problem = (kind: string, how: string): string => `spec.resourceAttributes.${kind} ${how} due to parse error`;

test.each<['fieldSelector' | 'labelSelector', ReviewSelector, string | undefined, string | undefined]>([
  ['labelSelector', {}, undefined, undefined],
  ['labelSelector', { rawSelector: 'a=b' }, 'a=b', undefined],
  ['labelSelector', { rawSelector: 'a=b=c=' }, undefined, 'ignored'],
  ['labelSelector', { requirements: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] }, 'a in (b,c)', undefined],
  ['labelSelector', { requirements: [{ key: 'a', operator: 'x' }] }, undefined, 'ignored'],
  [
    'labelSelector',
    {
      requirements: [
        { key: 'a', operator: 'x' },
        { key: 'b', operator: 'Exists' },
      ],
    },
    'b',
    'partially ignored',
  ],
  ['fieldSelector', { requirements: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, 'a!=b', undefined],
  ['fieldSelector', { requirements: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] }, undefined, 'ignored'],
  [
    'fieldSelector',
    {
      requirements: [
        { key: 'a', operator: 'Exists' },
        { key: 'b', operator: 'In', values: ['c'] },
      ],
    },
    'b=c',
    'partially ignored',
  ],
])('%s %j', (kind, given, selector, how) => {
  expect(understoodSelector(kind, given)).toEqual({
    selector,
    problem: how === undefined ? undefined : problem(kind, how),
  });
});
