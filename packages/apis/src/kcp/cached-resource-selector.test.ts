import { expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { cachedResourceSelector, type CachedResource } from './cached-resources.ts';

const objects: Record<string, Record<string, string>> = {
  publicSmall: { visibility: 'Public', size: 'small' },
  publicLarge: { visibility: 'Public', size: 'large' },
  privateSmall: { visibility: 'Private', size: 'small' },
  plain: {},
};
const selected = (labelSelector: Json | undefined): string[] => {
  const selector = cachedResourceSelector({ spec: { labelSelector } } as unknown as CachedResource);
  return Object.keys(objects).filter((name) => selector.matches(objects[name] ?? {}));
};
const all = Object.keys(objects);
const inSizes = { key: 'size', operator: 'In', values: ['large', 'huge'] };

test.each<[string, Json | undefined, string[]]>([
  ['nothing', undefined, all],
  ['an empty selector', {}, all],
  ['a plain map', { visibility: 'Public' }, ['publicSmall', 'publicLarge']],
  ['matchLabels', { matchLabels: { visibility: 'Public', size: 'small' } }, ['publicSmall']],
  ['In', { matchExpressions: [inSizes] }, ['publicLarge']],
  ['NotIn', { matchExpressions: [{ ...inSizes, operator: 'NotIn' }] }, ['publicSmall', 'privateSmall', 'plain']],
  [
    'Exists',
    { matchExpressions: [{ key: 'size', operator: 'Exists' }] },
    ['publicSmall', 'publicLarge', 'privateSmall'],
  ],
  ['DoesNotExist', { matchExpressions: [{ key: 'size', operator: 'DoesNotExist' }] }, ['plain']],
  ['both members', { matchLabels: { visibility: 'Public' }, matchExpressions: [inSizes] }, ['publicLarge']],
  ['a map with expressions', { visibility: 'Public', matchExpressions: [inSizes] }, ['publicLarge']],
])('%s selects as a label selector does', (_what, labelSelector, wanted) => {
  expect(selected(labelSelector)).toEqual(wanted);
});

test.each<[string, Json, string]>([
  [
    'an unknown operator',
    { matchExpressions: [{ key: 'size', operator: 'Like', values: ['x'] }] },
    'is not a valid label selector operator',
  ],
  ['In without values', { matchExpressions: [{ key: 'size', operator: 'In' }] }, "values set can't be empty"],
])('%s is refused', (_what, labelSelector, message) => {
  expect(() => selected(labelSelector)).toThrow(message);
});
