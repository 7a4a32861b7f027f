import { asLogicalClusterName } from '@multiplane/apimachinery';
import { describe, expect, test } from '@jest/globals';
import { cacheKey, cacheResourcePrefix, isShardName, parseCacheKey } from './cache-keys.ts';

const exports = { group: 'apis.kcp.io', resource: 'apiexports' };
const root = asLogicalClusterName('root');

describe('keys of cached objects', () => {
  test('have the documented layout', () => {
    const location = { shard: 's1', cluster: asLogicalClusterName('abc'), namespace: '', name: 'e' };
    expect(cacheKey(exports, location)).toBe('/cache/apis.kcp.io/apiexports/customresources/s1/abc/e');
    expect(cacheKey({ group: 'g', resource: 'things', identity: 'C' }, { ...location, name: 't' })).toBe(
      '/cache/g/things/C/s1/abc/t',
    );
    expect(cacheKey({ group: '', resource: 'configmaps' }, { ...location, namespace: 'n' })).toBe(
      '/cache/core/configmaps/customresources/s1/abc/n/e',
    );
  });

  test.each([
    { ...exports, identity: 'customresources', shard: 'root', cluster: root, namespace: '', name: 'a.b:c' },
    { group: '', resource: 'configmaps', identity: 'f00d', shard: 's-1:x', cluster: root, namespace: 'n', name: 'x' },
  ])('parse to the parts that they were built from', (parts) => {
    expect(parseCacheKey(cacheKey(parts, parts))).toEqual(parts);
  });

  test('a prefix ends before or after the shard', () => {
    expect(cacheResourcePrefix(exports, '*')).toBe('/cache/apis.kcp.io/apiexports/customresources/');
    expect(cacheResourcePrefix(exports, 's1')).toBe('/cache/apis.kcp.io/apiexports/customresources/s1/');
  });

  test.each(['', '.', '..', 'a/b', '*'])('a segment cannot change the layout: %j', (bad) => {
    const location = { shard: 's1', cluster: root, namespace: '', name: 'e' };
    expect(() => cacheKey(exports, { ...location, shard: bad })).toThrow(TypeError);
    expect(() => cacheKey(exports, { ...location, cluster: bad as typeof root })).toThrow(TypeError);
    if (bad !== '*') expect(() => cacheKey(exports, { ...location, name: bad })).toThrow(TypeError);
    if (bad !== '*') expect(() => cacheResourcePrefix({ group: 'g', resource: bad }, 's1')).toThrow(TypeError);
    expect(isShardName(bad)).toBe(false);
  });

  test.each(['/registry/a/b/c/d/e/f', '/cache/a/b/c/d/e', '/cache/a/b/c/d/e/f/g/h', '/cache/a/b//d/e/f'])(
    'other keys are none of them: %s',
    (key) => expect(parseCacheKey(key)).toBeUndefined(),
  );
});
