import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { resourceBindingsAnnotation } from './api-sharing.ts';
import { formatLocks, lockName, locksOf, parseLocks } from './resource-locks.ts';

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

  test('of a logical cluster are those of its annotation', () => {
    const text = '{"widgets.example.dev":{"n":"things"}}';
    const object = (annotations?: Record<string, string>): KubeObject => ({
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', ...(annotations === undefined ? {} : { annotations }) },
    });
    const locked = object({ [resourceBindingsAnnotation]: text });
    for (let time = 0; time < 2; time++) expect(formatLocks(locksOf(locked))).toBe(text);
    expect(formatLocks(locksOf(object()))).toBe('{}');
    expect(formatLocks(locksOf(undefined))).toBe('{}');
  });

  test('in the core group go by the resource alone', () => {
    expect(lockName({ group: '', resource: 'pods' })).toBe('pods');
    expect(lockName({ group: 'apps', resource: 'deployments' })).toBe('deployments.apps');
  });
});
