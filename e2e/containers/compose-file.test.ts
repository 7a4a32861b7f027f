import { expect, test } from '@jest/globals';
import { interpolated, milliseconds, readComposeFile } from './compose-file.ts';
import { troubleIn } from './fixtures.ts';
import { composeFile } from './working-engine.ts';

test.each([
  ['${A}', 'a'],
  ['${A:-b}:${C:-6443}', 'a:6443'],
  ['${EMPTY:-d}', 'd'],
  ['$$@', '$@'],
  ['${A:?needed}', 'a'],
])('%s becomes %s', (text, expected) => {
  expect(interpolated(text, { A: 'a', EMPTY: '' })).toBe(expected);
});

test('a variable that must be set says so', () => {
  expect(() => interpolated('${PASSWORD:?set it in .env}', {})).toThrow(
    'required variable PASSWORD is missing a value: set it in .env',
  );
});

test('a profile has its services alone, and every key of them is known', () => {
  expect(Object.keys(readComposeFile(composeFile, ['single'], {}).services)).toEqual(['single']);
  expect(Object.keys(readComposeFile(composeFile, ['sharded'], {}).services)).toHaveLength(11);
});

test('durations', () => {
  expect(['40s', '10m', '250ms'].map(milliseconds)).toEqual([40_000, 600_000, 250]);
  expect(() => milliseconds('soon')).toThrow('soon is no duration');
});

test('trouble in a log: by level, by the tag of NATS, and what is no log line', () => {
  const log = [
    '{"level":"info","message":"a"}',
    '{"level":"warn","message":"b"}',
    '{"level":"warn","message":"event loop blocked"}',
    '{"level":"error","message":"c"}',
    '[1] 2026/11/23 04:00:00.000000 [INF] d',
    '[1] 2026/11/23 04:00:00.000000 [ERR] e',
    'Warning: Ignoring extra certs',
    '',
  ].join('\n');
  expect(troubleIn(log, 'error')).toEqual([
    '{"level":"error","message":"c"}',
    '[1] 2026/11/23 04:00:00.000000 [ERR] e',
    'Warning: Ignoring extra certs',
  ]);
  expect(troubleIn(log, 'warn')).toHaveLength(4);
});
