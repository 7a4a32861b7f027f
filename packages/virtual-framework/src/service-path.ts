import { isLogicalClusterName } from '@multiplane/apimachinery';
import type { RequestPath } from '@multiplane/apiserver';
import type { VirtualPath } from './virtual-workspace.ts';

/** Where all virtual workspaces live (C8.1). */
export const servicesPrefix = '/services/';

/**
 * `/services/<service>/<…key>/clusters/<cluster name or *>/<path>`, as most virtual workspaces have it. `keySegments` is
 * how many segments the key takes; they are joined by slashes. Paths of workspaces are refused where a cluster must
 * stand: only its shard could say what they lead to (C1.4).
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
    below: {
      cluster,
      clusterPath: undefined,
      // The logical cluster itself, without a slash behind it, is no path of it.
      path: rest.length === 0 ? '' : `/${rest.join('/')}`,
      segments: segments.slice(clustersAt + 2),
      query: target.query,
    },
  };
}
