import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { KcpCondition } from '../tenancy/kcp-conditions.ts';

export const apiExports: GroupVersionResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };
export const apiExportEndpointSlices: GroupVersionResource = {
  group: 'apis.kcp.io',
  version: 'v1alpha1',
  resource: 'apiexportendpointslices',
};

/** Keeps the slice of the same name from being made. */
export const skipEndpointSliceAnnotation = 'apiexports.apis.kcp.io/skip-endpointslice';

export type APIExport = KubeObject & {
  spec?: { identity?: { secretRef?: { name?: string; namespace?: string } } };
  status?: { identityHash?: string; conditions?: KcpCondition[] };
};
