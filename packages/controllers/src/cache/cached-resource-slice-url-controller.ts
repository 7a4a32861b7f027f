import {
  cachedResourceEndpointSlices,
  isCachedResourceStorage,
  virtualStorageOf,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import { sliceUrlController, type SliceUrlModules } from '../apis/slice-url-controller.ts';
import type { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { SliceExports } from './slice-exports.ts';

/** Publishes the URL of this shard's replication virtual workspace in CachedResourceEndpointSlices. */
export function cachedResourceSliceUrlController(
  { shardName }: { readonly shardName: string },
  modules: SliceUrlModules,
): Controller {
  const sliceExports = new SliceExports(modules);
  return sliceUrlController<CachedResourceEndpointSlice>(
    {
      name: 'cachedresourceendpointslice-urls',
      shardName,
      resource: cachedResourceEndpointSlices,
      exportsOf: (slice, reference) => sliceExports.of(slice, reference),
      slicesOf: ({ spec }, { cluster }) =>
        (spec?.resources ?? []).flatMap((resource) => {
          const virtual = virtualStorageOf(resource);
          return virtual !== undefined && isCachedResourceStorage(virtual)
            ? [keyOf({ cluster, namespace: '', name: virtual.reference.name })]
            : [];
        }),
      urlOf: (base, _slice, { cluster, name }) => `${base.replace(/\/+$/, '')}/services/replication/${cluster}/${name}`,
    },
    modules,
  );
}
