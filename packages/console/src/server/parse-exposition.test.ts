import { expect, test } from '@jest/globals';
import { parseExposition } from './parse-exposition.ts';

test('samples by metric, with their labels', () => {
  const text = [
    '# HELP a Text.',
    '# TYPE a counter',
    'a{code="200",path="/x,y}",quote="a\\"b\\\\c\\nd"} 12',
    'a{code="500"} 1.5e3 1700000000000',
    'b 7',
    'not a sample',
    'c{__proto__="x"} +Inf',
    '',
  ].join('\n');
  const samples = parseExposition(text);
  expect([...samples.keys()]).toEqual(['a', 'b', 'c']);
  expect(samples.get('a')?.map(({ labels, value }) => [{ ...labels }, value])).toEqual([
    [{ code: '200', path: '/x,y}', quote: 'a"b\\c\nd' }, 12],
    [{ code: '500' }, 1_500],
  ]);
  expect(samples.get('b')).toEqual([{ labels: {}, value: 7 }]);
});
