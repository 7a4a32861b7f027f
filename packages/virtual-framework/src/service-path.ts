import { isLogicalClusterName } from '@multiplane/apimachinery';
import type { RequestPath } from '@multiplane/generic-server';
import type { VirtualPath } from './virtual-workspace.ts';

/** The path prefix of all virtual workspaces. */
export const servicesPrefix = '/services/';

/**
 * Parses `/services/<service>/<…key>/clusters/<cluster name or *>/<path>`, the form of most virtual workspaces.
 * `keySegments` is the number of path segments of the key; they are joined by slashes. A workspace path in place of the
 * cluster is rejected, because only the shard of the workspace can resolve it.
 */
export function parseServicePath(target: RequestPath, service: string, keySegments: number): VirtualPath | undefined {
  const { segments } = target;
  if (target.cluster !== undefined || target.clusterPath !== undefined) return undefined;
  const clustersAt = 2 + keySegments;
  const cluster = segments[clustersAt + 1];
  if (segments[0] !== 'services' || segments[1] !== service || segments[clustersAt] !== 'clusters') return undefined;
  if (cluster === undefined || (cluster !== '*' && !isLogicalClusterName(cluster))) return undefined;
  const rest = target.path.split('/').slice(clustersAt + 3);
  return {
    key: segments.slice(2, clustersAt).join('/'),
    cluster,
    requestPath: {
      cluster,
      clusterPath: undefined,
      // Without a trailing slash the path within the logical cluster is empty.
      path: rest.length === 0 ? '' : `/${rest.join('/')}`,
      segments: segments.slice(clustersAt + 2),
      query: target.query,
    },
  };
}
