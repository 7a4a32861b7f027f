import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { APIBinding, APIExport, APIExportEndpointSlice } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';

/** How an object refers to an APIExport: by name, and by path or, without a path, in its own logical cluster. */
export interface ExportReference {
  readonly path?: string;
  readonly name?: string;
}

export const bindingExportReference = ({ spec }: DeepReadonly<APIBinding>): ExportReference =>
  spec?.reference?.export ?? {};

export const sliceExportReference = ({ spec }: DeepReadonly<APIExportEndpointSlice>): ExportReference =>
  spec?.export ?? {};

/** The path of a reference: as written, or the logical cluster of the referring object. */
export const exportPath = ({ path = '' }: ExportReference, cluster: LogicalClusterName): string =>
  path === '' ? cluster : path;

/** `<path>|<name>`, as kcp's messages name an export. */
export const exportKey = (reference: ExportReference, cluster: LogicalClusterName): string =>
  `${exportPath(reference, cluster)}|${reference.name ?? ''}`;

export const referenceOfExport = ({ metadata }: DeepReadonly<APIExport>): ObjectReference => ({
  cluster: (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName,
  namespace: '',
  name: metadata.name ?? '',
});

/**
 * Whether the export found at the path of a binding is not the one that the binding was bound to: neither in the same
 * logical cluster nor with the same identity. The path may belong to a new workspace of the same name by now, which must
 * not inherit the consumers, their accepted claims and their objects. kcp does not check this.
 */
export function isDifferentExport(found: DeepReadonly<APIExport>, { status }: DeepReadonly<APIBinding>): boolean {
  const boundCluster = status?.apiExportClusterName ?? '';
  if (boundCluster === '' || boundCluster === (found.metadata.annotations?.[clusterAnnotation] ?? '')) return false;
  const identity = status?.boundResources?.[0]?.schema.identityHash ?? '';
  return identity === '' || identity !== found.status?.identityHash;
}
