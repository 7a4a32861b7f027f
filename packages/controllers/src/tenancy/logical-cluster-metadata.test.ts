import { describe, expect, test } from '@jest/globals';
import { hexSha224 } from '@multiplane/apimachinery';
import type { LogicalCluster } from './kinds.ts';
import { metadataFor as metadataOn } from './logical-cluster-metadata.ts';

const cluster = (status: LogicalCluster['status'], metadata: LogicalCluster['metadata'] = {}): LogicalCluster => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata,
  ...(status === undefined ? {} : { status }),
});
/** What the shard it is on, and was on before, makes of it. */
const metadataFor = (object: LogicalCluster): ReturnType<typeof metadataOn> => {
  const annotations = { 'core.kcp.io/shard': 'here', ...object.metadata.annotations };
  return metadataOn({ ...object, metadata: { ...object.metadata, annotations } }, 'here');
};
const hash = hexSha224('a:mine');

describe('metadata of a logical cluster', () => {
  test('has labels for remaining initializers and terminators', () => {
    expect(metadataFor(cluster({ phase: 'Initializing', initializers: ['a:mine'] }))).toEqual({
      labels: {
        'tenancy.kcp.io/phase': 'Initializing',
        [`initializer.internal.kcp.io/${hash.slice(0, 35)}`]: hash,
      },
    });
  });

  test('loses labels of finished initializers and keeps other labels', () => {
    const labels = { [`initializer.internal.kcp.io/${hash.slice(0, 35)}`]: hash, mine: 'yes' };
    expect(metadataFor(cluster({ phase: 'Ready', initializers: [] }, { labels }))).toEqual({
      labels: { 'tenancy.kcp.io/phase': 'Ready', mine: 'yes' },
    });
  });

  test('has a finalizer for terminators', () => {
    const waiting = { phase: 'Ready' as const, terminators: ['a:mine'] };
    expect(metadataFor(cluster(waiting, { finalizers: ['x'] }))).toMatchObject({
      finalizers: ['x', 'kcp.io/has-terminators'],
    });
    const done = { finalizers: ['x', 'kcp.io/has-terminators'], deletionTimestamp: 'now' };
    expect(metadataFor(cluster({ phase: 'Deleting', terminators: [] }, done))).toMatchObject({ finalizers: ['x'] });
    // One that is being deleted without it stays so.
    expect(metadataFor(cluster(waiting, { finalizers: ['x'], deletionTimestamp: 'now' }))).not.toHaveProperty(
      'finalizers',
    );
  });

  test('keeps only the name of the owner once Ready', () => {
    const owner = (text: string): LogicalCluster['metadata'] => ({
      labels: { 'tenancy.kcp.io/phase': 'Ready' },
      annotations: { 'experimental.tenancy.kcp.io/owner': text, other: 'x' },
    });
    expect(metadataFor(cluster({ phase: 'Ready' }, owner('{"username":"ann","groups":["g"]}')))).toEqual({
      annotations: {
        'core.kcp.io/shard': 'here',
        'experimental.tenancy.kcp.io/owner': '{"username":"ann"}',
        other: 'x',
      },
    });
    expect(metadataFor(cluster({ phase: 'Ready' }, owner('{"username":"ann"}')))).toBeUndefined();
    expect(metadataFor(cluster({ phase: 'Ready' }, owner('not JSON')))).toBeUndefined();
  });

  test('has the current shard, also after a move', () => {
    const labels = { 'tenancy.kcp.io/phase': 'Ready' };
    const moved = cluster({ phase: 'Ready' }, { labels, annotations: { 'core.kcp.io/shard': 'there', other: 'x' } });
    expect(metadataOn(moved, 'here')).toEqual({ annotations: { 'core.kcp.io/shard': 'here', other: 'x' } });
  });
});
