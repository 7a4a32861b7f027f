import { expect, test } from '@jest/globals';
import { similarNames, suggestionText } from './similar-names.ts';

const commands = ['start', 'shard', 'store', 'snapshot', 'pki', 'front-proxy'];

test.each([
  ['strat', ['start']],
  ['snapshit', ['snapshot']],
  ['SNAPSHOT', ['snapshot']],
  ['fr', ['front-proxy']],
  ['stroe', ['store']],
  ['sta', ['start']],
  ['pk1', ['pki']],
  ['nosuch', []],
  ['x', []],
  ['', []],
])('%s may stand for %p', (misspelt, names) => {
  expect(similarNames(misspelt, commands)).toEqual(names);
});

test('the suggestion is nothing without a similar name', () => {
  expect(suggestionText('strat', commands)).toBe('\n\nDid you mean this?\n\tstart');
  expect(suggestionText('nosuch', commands)).toBe('');
});

test('a long name costs no more than its length', () => {
  expect(similarNames('a'.repeat(100_000), ['a'.repeat(10), 'b'])).toEqual([]);
});
