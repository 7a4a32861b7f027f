import {
  labelSelectorFromObject,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LabelSelector,
} from '@multiplane/apimachinery';
import type { KcpCondition } from './api-sharing.ts';
import type { Endpoint } from './endpoint.ts';

const ofCache = (resource: string): GroupVersionResource => ({ group: 'cache.kcp.io', version: 'v1alpha1', resource });
export const cachedResources = ofCache('cachedresources');
export const cachedResourceEndpointSlices = ofCache('cachedresourceendpointslices');

/** The kinds by which `storage.virtual.reference` of an APIExport names a slice of the replication virtual workspace. */
export const cachedResourceEndpointSliceKinds: ReadonlySet<string> = new Set([
  'CachedResourceEndpointSlice',
  'ClusterCachedResourceEndpointSlice',
]);
/** Kind and scope (`Cluster` or `Namespaced`) of the cached objects, from which the cache server derives the resource. */
export const resourceKindAnnotation = 'cache.kcp.io/resource-kind';
export const resourceScopeAnnotation = 'cache.kcp.io/resource-scope';
export const cachedResourceFinalizer = 'cache.kcp.io/cachedresource';

export type CachedResourcePhase = 'Scheduling' | 'Initializing' | 'Ready' | 'Deleting' | 'Deleted';

export type CachedResource = KubeObject & {
  spec?: {
    group?: string;
    version?: string;
    resource: string;
    identity?: { secretRef?: { name?: string; namespace?: string } };
    labelSelector?: Record<string, Json>;
  };
  status?: {
    identityHash?: string;
    resourceCounts?: { cache: number; local: number };
    phase?: CachedResourcePhase;
    conditions?: KcpCondition[];
  };
};

export interface ObjectPathReference {
  path?: string;
  name: string;
}

export type CachedResourceEndpointSlice = KubeObject & {
  spec?: {
    cachedResource: ObjectPathReference;
    /** Absent: every APIExport of the slice's logical cluster that refers to the slice. */
    export?: ObjectPathReference;
    partition?: string;
  };
  status?: { endpoints?: Endpoint[]; shardSelector?: string; conditions?: KcpCondition[] };
};

/** The resource that a CachedResource replicates. */
export function cachedGroupVersionResource({ spec }: DeepReadonly<CachedResource>): GroupVersionResource {
  return { group: spec?.group ?? '', version: spec?.version ?? '', resource: spec?.resource ?? '' };
}

/**
 * The `metav1.LabelSelector` behind `spec.labelSelector`. Members other than `matchLabels` and `matchExpressions` are
 * labels by themselves: kcp's documentation shows the selector as a plain map (`labelSelector: {visibility: Public}`).
 * docs/adr/0077.
 */
export function normalizedLabelSelector(selector: DeepReadonly<Record<string, Json>> | undefined): Json {
  const { matchLabels, matchExpressions, ...labels } = selector ?? {};
  return {
    matchLabels: { ...(matchLabels as Record<string, string> | undefined), ...labels },
    ...(matchExpressions === undefined ? {} : { matchExpressions }),
  } as Json;
}

/** Throws for a selector that admission would have refused. An absent or empty selector selects every object. */
export function cachedResourceSelector({ spec }: DeepReadonly<CachedResource>): LabelSelector {
  return labelSelectorFromObject(normalizedLabelSelector(spec?.labelSelector));
}
