import { describe, expect, test } from '@jest/globals';
import { homeClusterName, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import type { Informer, InformerFactory, ObjectReference } from '@multiplane/client';
import { pathUnavailable, pathOnOtherShard } from '@multiplane/generic-server';
import { LogicalClusterIndex } from './logical-cluster-index.ts';

/** An index over these workspaces (by `<cluster>/<name>`) and logical clusters. */
function indexOf(
  workspaces: Record<string, { cluster?: string; phase?: string; shard?: string }>,
  clusters: string[],
): LogicalClusterIndex {
  const get = (resource: GroupVersionResource, { cluster, name }: ObjectReference): KubeObject | undefined => {
    if (resource.resource === 'logicalclusters')
      return clusters.includes(cluster) ? { apiVersion: '', kind: '', metadata: {} } : undefined;
    const key = `${cluster}/${name}`;
    const found = Object.hasOwn(workspaces, key) ? workspaces[key] : undefined;
    return found === undefined
      ? undefined
      : {
          apiVersion: '',
          kind: '',
          metadata: { annotations: { 'core.kcp.io/shard': found.shard ?? 'a' } },
          spec: found.cluster === undefined ? {} : { cluster: found.cluster },
          status: { phase: found.phase ?? 'Ready' },
        };
  };
  const informers = {
    informer: (resource: GroupVersionResource) =>
      ({ get: (reference: ObjectReference) => get(resource, reference) }) as unknown as Informer,
  } as unknown as InformerFactory;
  return new LogicalClusterIndex({ shardName: 'a' }, { informers });
}

describe('a path', () => {
  const index = indexOf(
    {
      'root/org': { cluster: 'c1' },
      'c1/team': { cluster: 'c2', phase: 'Deleting' },
      'root/far': { cluster: 'c3', shard: 'b' },
      'root/lost': { cluster: 'c4' },
      'root/new': {},
      'root/down': { cluster: 'c5', phase: 'Unavailable' },
      'c5/child': { cluster: 'c6' },
      'root/odd': { cluster: 'Not A Name' },
    },
    ['root', 'c1', 'c2', 'c5', 'c6', homeClusterName('alice')],
  );

  test.each([
    ['root:org', 'c1'],
    ['root:org:team', 'c2'],
    ['c1:team', 'c2'],
    ['root:nosuch', undefined],
    ['nosuch:org', undefined],
    ['root:org:team:x', undefined],
    ['root:new', undefined],
    ['root:lost', undefined],
    ['root:odd', undefined],
    ['root:__proto__', undefined],
    ['root:far', pathOnOtherShard],
    ['root:far:below', pathOnOtherShard],
    ['root:down', pathUnavailable],
    ['root:down:child', pathUnavailable],
    ['root:down:nosuch', undefined],
    ['user:alice', homeClusterName('alice')],
    ['user:nosuch', undefined],
  ])('%s', (path, expected) => {
    expect(index.resolve(path)).toBe(expected);
    expect(index.find(path)).toBe(typeof expected === 'string' ? expected : undefined);
  });
});
