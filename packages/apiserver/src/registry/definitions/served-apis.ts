import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestContext } from '../request-context.ts';
import type { ResourceResolver } from './resource-resolver.ts';

/** Everything that discovery and OpenAPI show in one place. */
export interface Surface {
  /** Equal texts mean equal definitions. */
  readonly hash: string;
  definitions(): readonly ResourceDefinition[];
  /** True for a group that is compiled in: paths below it answer with a Status where others get a plain 404. */
  isBuiltInGroup(group: string): boolean;
}

/** What a request looks at, soon when it must be made first; undefined: nothing that has documents. */
export type SurfaceOf = (context: RequestContext) => Surface | undefined | Promise<Surface>;

/** Nothing lies here: what it serves is compiled in. */
const everywhere = 'system:everywhere' as LogicalClusterName;

/** What each logical cluster serves; over all of them at once: what is compiled in. */
export function clusterSurfaces(resolver: ResourceResolver): SurfaceOf {
  return ({ info }) => {
    if (info.cluster === undefined) return undefined;
    const cluster = info.cluster === '*' ? everywhere : info.cluster;
    const surface = (): Surface => ({
      hash: resolver.surfaceHash(cluster),
      definitions: () => resolver.list(cluster),
      isBuiltInGroup: (group) => resolver.isBuiltInGroup(group),
    });
    return resolver.prepare?.(cluster)?.then(surface) ?? surface();
  };
}
