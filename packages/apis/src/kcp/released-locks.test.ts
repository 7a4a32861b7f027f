import { expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { resourceBindingsAnnotation } from './api-sharing.ts';
import { releasedLocks } from './released-locks.ts';

const logicalCluster = (locks: string | undefined): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: {
    name: 'cluster',
    ...(locks === undefined ? {} : { annotations: { [resourceBindingsAnnotation]: locks } }),
  },
});

test.each([
  ['{}', '{"a.x":{"n":"one"}}', []],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"n":"one"},"b.x":{"c":true}}', []],
  ['{"a.x":{"n":"one"},"b.x":{"n":"one"}}', '{"b.x":{"n":"one"}}', ['a.x']],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"n":"two"}}', ['a.x']],
  ['{"a.x":{"n":"one"}}', '{"a.x":{"c":true}}', ['a.x']],
  ['{"a.x":{"c":true,"e":"2026-01-01T00:00:00Z"}}', '{"a.x":{"c":true}}', []],
  ['{"a.x":{"n":"one"}}', undefined, ['a.x']],
  [undefined, '{"a.x":{"n":"one"}}', []],
])('from %s to %s may have become free: %j', (before, after, names) => {
  expect(releasedLocks(logicalCluster(before), logicalCluster(after))).toEqual(names);
});
