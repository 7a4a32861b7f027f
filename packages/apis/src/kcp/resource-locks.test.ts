import { describe, expect, test } from '@jest/globals';
import { formatLocks, lockName, parseLocks } from './resource-locks.ts';

describe('locks of names of resources', () => {
  test('are written by name, so that equal locks are equal texts', () => {
    const locks = new Map([
      ['widgets.example.dev', { n: 'things' }],
      ['gears.example.dev', { c: true, e: '2026-01-01T00:00:00Z' }],
    ]);
    const text = '{"gears.example.dev":{"c":true,"e":"2026-01-01T00:00:00Z"},"widgets.example.dev":{"n":"things"}}';
    expect(formatLocks(locks)).toBe(text);
    expect(formatLocks(parseLocks(text))).toBe(text);
    expect(formatLocks(new Map())).toBe('{}');
  });

  test('that cannot be read hold nothing', () => {
    for (const text of [undefined, '', '[]', 'null', '{"a":1}', '{"a":'])
      expect(formatLocks(parseLocks(text))).toBe('{}');
  });

  test('of names that objects have of their own are like any other', () => {
    const text = '{"__proto__":{"n":"a"},"constructor":{"n":"b"}}';
    expect(formatLocks(parseLocks(text))).toBe(text);
  });

  test('in the core group go by the resource alone', () => {
    expect(lockName({ group: '', resource: 'pods' })).toBe('pods');
    expect(lockName({ group: 'apps', resource: 'deployments' })).toBe('deployments.apps');
  });
});
