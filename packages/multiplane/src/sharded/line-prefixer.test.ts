import { expect, test } from '@jest/globals';
import { LinePrefixer } from './line-prefixer.ts';

function prefixed(format: 'text' | 'json', ...chunks: string[]): string[] {
  const written: string[] = [];
  const lines = new LinePrefixer({ name: 'shard-1', width: 9, format }, { write: (text) => written.push(text) });
  for (const chunk of chunks) lines.push(chunk);
  lines.end();
  return written;
}

test('each line gets the name, also one that comes in parts or without its end', () => {
  expect(prefixed('text', 'a\nb', 'c\n', '\nd')).toEqual([
    'shard-1   | a\n',
    'shard-1   | bc\n',
    'shard-1   | \n',
    'shard-1   | d\n',
  ]);
});

test('in JSON it is a field, and before what is no object', () => {
  const [first, second] = prefixed('json', '{"level":"info","message":"ready"}\n', 'panic\n') as [string, string];
  expect(JSON.parse(first)).toEqual({ process: 'shard-1', level: 'info', message: 'ready' });
  expect(second).toBe('shard-1   | panic\n');
});

test('a line without an end does not fill the memory', () => {
  const written = prefixed('text', 'x'.repeat(3 << 20));
  expect(written).toHaveLength(1);
  expect(prefixed('text', ...Array.from({ length: 5 }, () => 'x'.repeat(600_000)))).toHaveLength(3);
});
