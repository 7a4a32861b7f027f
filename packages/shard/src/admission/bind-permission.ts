import { clusterAnnotation, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import type { Authorizer } from '@multiplane/apiserver';
import { apiExports, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type PathAndNameLookup } from '@multiplane/client';
import { rootCluster } from '../logical-cluster-index.ts';

/** How an export is named from another logical cluster; without a path it lies in the same one. */
export interface ExportReference {
  readonly path?: string | undefined;
  readonly name: string;
}

/**
 * The logical cluster of an export that is referred to from `own`; undefined where no such export is known, or several
 * are (C6.11). Exports are of all shards.
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
 * Whether somebody may bind an export (C6.7, C6.11, C6.12): the verb `bind`, asked in the name of the control plane in
 * the logical cluster of the export, which the user need not be able to enter (C7.9).
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

/** An export as refusals name it: by what its reference says. */
export const exportNameIn = ({ path = '', name }: ExportReference, own: LogicalClusterName): string =>
  `${path === '' ? own : path}:${name}`;
