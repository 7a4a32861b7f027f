import { clusterAnnotation, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import { apiExports, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type PathAndNameLookup } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import { rootCluster } from '../logical-cluster-index.ts';

/** A reference to an APIExport; without a path the export is in the logical cluster of the reference. */
export interface ExportReference {
  readonly path?: string | undefined;
  readonly name: string;
}

/**
 * Resolves a reference in the logical cluster `own` to the logical cluster of the export, on any shard. Returns undefined if
 * no export or more than one matches.
 */
export function exportClusterOf(
  exports: PathAndNameLookup<APIExport>,
  { path = '', name }: ExportReference,
  own: LogicalClusterName,
): LogicalClusterName | undefined {
  if (path === '') return own;
  if (path === rootCluster) return rootCluster;
  try {
    return exports.byPathAndName(path, name)?.metadata.annotations?.[clusterAnnotation] as
      | LogicalClusterName
      | undefined;
  } catch (error) {
    if (error instanceof AmbiguousPathError) return undefined;
    throw error;
  }
}

/**
 * Whether the user has the verb `bind` on an export. The check is deep, as kcp's `pkg/authorization/delegated`: it applies
 * RBAC in the logical cluster of the export whether or not the user has access to that workspace.
 */
export async function mayBind(
  authorizer: Authorizer,
  { user, cluster, name }: { readonly user: UserInfo; readonly cluster: LogicalClusterName; readonly name: string },
): Promise<boolean> {
  const { decision } = await authorizer.authorize({
    user,
    cluster,
    deep: true,
    verb: 'bind',
    isResourceRequest: true,
    group: apiExports.group,
    version: 'v1alpha1',
    resource: apiExports.resource,
    subresource: '',
    namespace: '',
    name,
    path: '',
  });
  return decision === 'allow';
}

/** The name of an export in error messages: only what the reference says. */
export const exportNameIn = ({ path = '', name }: ExportReference, own: LogicalClusterName): string =>
  `${path === '' ? own : path}:${name}`;
