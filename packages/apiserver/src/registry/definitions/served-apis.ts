import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestContext } from '@multiplane/generic-server';
import type { ResourceResolver } from './resource-resolver.ts';

/** The APIs that discovery and OpenAPI describe for one logical cluster or virtual workspace. */
export interface ServedApis {
  /** Equal hashes mean equal definitions. */
  readonly hash: string;
  definitions(): readonly ResourceDefinition[];
  /** Whether a group is compiled in: unknown paths below it get a Status, below other groups a plain 404. */
  isBuiltInGroup(group: string): boolean;
}

/** The APIs that a request sees; a promise if they must be prepared first; undefined if the path has no documents. */
export type ServedApisOf = (context: RequestContext) => ServedApis | undefined | Promise<ServedApis>;

/** A logical cluster that cannot exist: it serves what is compiled in. */
const wildcardCluster = 'system:everywhere' as LogicalClusterName;

/** The APIs of each logical cluster; for requests over all logical clusters those that are compiled in. */
export function clusterServedApis(resolver: ResourceResolver): ServedApisOf {
  return ({ info }) => {
    if (info.cluster === undefined) return undefined;
    const cluster = info.cluster === '*' ? wildcardCluster : info.cluster;
    const served = (): ServedApis => ({
      hash: resolver.discoveryHash(cluster),
      definitions: () => resolver.list(cluster),
      isBuiltInGroup: (group) => resolver.isBuiltInGroup(group),
    });
    return resolver.prepare?.(cluster)?.then(served) ?? served();
  };
}
