import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { Strategy } from '../resource-definition.ts';
import type { CachedResource, CachedResourceEndpointSlice } from './cached-resources.ts';

/** Set on a CachedResource: no CachedResourceEndpointSlice of its name is made. */
export const skipCachedResourceSliceAnnotation = 'cachedresources.cache.kcp.io/skip-endpointslice';
/** Marks a slice that was made with its CachedResource and that nobody else has written since. Only the system sets it. */
export const defaultSliceAnnotation = 'cachedresources.cache.kcp.io/default-endpointslice';

export const isDefaultSlice = ({ metadata }: DeepReadonly<KubeObject>): boolean =>
  Object.hasOwn(metadata.annotations ?? {}, defaultSliceAnnotation);

/** The slice that is made with a CachedResource. It serves every APIExport of its logical cluster that refers to it. */
export function defaultSliceOf({
  apiVersion,
  kind,
  metadata,
}: DeepReadonly<CachedResource>): CachedResourceEndpointSlice {
  const { name = '', uid = '' } = metadata;
  return {
    apiVersion,
    kind: 'CachedResourceEndpointSlice',
    metadata: {
      name,
      annotations: { [defaultSliceAnnotation]: '' },
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec: { cachedResource: { name } },
  };
}

/**
 * A default slice gives way to a slice of the provider (docs/adr/0128): a create replaces it, and an update is validated as a
 * create, so that it may change references that are immutable otherwise.
 */
export const withDefaultSlices = (strategy: Strategy): Strategy => ({
  ...strategy,
  givesWay: isDefaultSlice,
  validateUpdate: (context, object, old) =>
    isDefaultSlice(old) ? strategy.validate(context, object) : strategy.validateUpdate(context, object, old),
});
