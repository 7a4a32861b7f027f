import { expect, test } from '@jest/globals';
import { PathMappings } from './path-mappings.ts';

const mappings = new PathMappings(
  ['', '/clusters', '/services', '/services/special', '/e2e/clusters/{cluster}', '/e2e/clusters/root'].map((path) => ({
    path,
  })),
);
const find = (path: string): string => {
  const found = mappings.find(path.split('/').slice(1));
  return `${found?.mapping.path ?? 'none'} ${found?.cluster ?? '-'}`;
};

test.each([
  ['/', ' -'],
  ['/version', ' -'],
  ['/clusters', '/clusters -'],
  ['/clusters/root/api', '/clusters root'],
  ['/clustersx/root', ' -'],
  ['/services/special/clusters/a/b', '/services/special a'],
  ['/services/other/x/clusters/*/api', '/services *'],
  ['/services/other/clusters', '/services -'],
  ['/services/x/clusters/a/clusters/b', '/services a'],
  ['/e2e/clusters/team/x', '/e2e/clusters/{cluster} team'],
  ['/e2e/clusters/root/x', '/e2e/clusters/root root'],
  ['/e2e/clusters/', ' '],
])('%s belongs to %s', (path, expected) => {
  expect(find(path)).toBe(expected);
});

test('without a default mapping a path may have no mapping', () => {
  expect(new PathMappings([{ path: '/a' }]).find(['b'])).toBeUndefined();
});
