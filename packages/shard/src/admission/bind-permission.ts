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

interface ExportUse {
  readonly user: UserInfo;
  /** Logical cluster of the export. */
  readonly cluster: LogicalClusterName;
  readonly name: string;
  readonly verb: 'bind' | 'scope';
}

/** Whether the user has the verb `bind` on an export. */
export const mayBind = (authorizer: Authorizer, use: Omit<ExportUse, 'verb'>): Promise<boolean> =>
  mayUseExport(authorizer, { ...use, verb: 'bind' });

/**
 * Whether the user has a verb on an export. The check is deep, as kcp's `pkg/authorization/delegated`: it applies RBAC in the
 * logical cluster of the export whether or not the user has access to that workspace.
 */
export async function mayUseExport(authorizer: Authorizer, { user, cluster, name, verb }: ExportUse): Promise<boolean> {
  const { decision } = await authorizer.authorize({
    user,
    cluster,
    deep: true,
    verb,
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
