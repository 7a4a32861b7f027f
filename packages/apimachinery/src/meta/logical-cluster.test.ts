import { describe, expect, test } from '@jest/globals';
import { apiVersionOf, groupResourceText, gvkText, parseApiVersion } from './group-version.ts';
import { asLogicalClusterName, isLogicalClusterName, isLogicalClusterPath, splitPath } from './logical-cluster.ts';

describe('names of logical clusters', () => {
  test.each(['root', '2k9xrzqvmhpvhbj8', 'system:admin', 'a-b', 'x'.repeat(63)])('%s is one', (name) => {
    expect(isLogicalClusterName(name)).toBe(true);
    expect(asLogicalClusterName(name)).toBe(name);
  });

  test.each([
    '',
    '*',
    'root:org',
    'system:',
    'system:a:b',
    'System:a',
    'A',
    'a/b',
    '..',
    'a..b',
    'a.b',
    '%2f',
    'a\0',
    'a\n',
    'ä',
    '-a',
    'a-',
    'x'.repeat(64),
    '__proto__',
  ])('%j is none', (name) => {
    expect(isLogicalClusterName(name)).toBe(false);
    expect(() => asLogicalClusterName(name)).toThrow(TypeError);
  });

  test('paths are made of labels', () => {
    expect(['root', 'root:org:team', 'system:admin'].map(isLogicalClusterPath)).toEqual([true, true, true]);
    expect(
      ['', ':', 'root:', ':root', 'root::a', '*', 'root:*', 'a/b', 'x:'.repeat(600)].some(isLogicalClusterPath),
    ).toBe(false);
    expect(splitPath('root:a:b')).toEqual({ parent: 'root:a', name: 'b' });
    expect(splitPath('root')).toBeUndefined();
  });
});

test('groups, versions, kinds and resources as text', () => {
  expect(apiVersionOf({ group: '', version: 'v1' })).toBe('v1');
  expect(apiVersionOf({ group: 'a.b', version: 'v1' })).toBe('a.b/v1');
  expect(parseApiVersion('a.b/v1')).toEqual({ group: 'a.b', version: 'v1' });
  expect(parseApiVersion('v1')).toEqual({ group: '', version: 'v1' });
  expect(parseApiVersion('a/b/c')).toBeUndefined();
  expect(groupResourceText({ group: 'g', resource: 'r' })).toBe('r.g');
  expect(gvkText({ group: '', version: 'v1', kind: 'Event' })).toBe('/v1, Kind=Event');
});
