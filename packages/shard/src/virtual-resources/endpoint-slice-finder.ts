import { isStatusError } from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import type { ObjectClient } from '@multiplane/client';
import type { FindEndpointSlice } from '@multiplane/controllers';

/** Finds endpoint slices of any kind in logical clusters of this shard, in the first version that serves the kind. */
export function endpointSliceFinder(modules: {
  readonly resolver: Pick<ResourceResolver, 'list'>;
  readonly client: Pick<ObjectClient, 'get'>;
}): FindEndpointSlice {
  return async (cluster, { apiGroup = '', kind, name }) => {
    const resource = modules.resolver
      .list(cluster)
      .find((definition) => definition.group === apiGroup && definition.kind === kind && !definition.namespaced);
    if (resource === undefined) return 'unknown kind';
    try {
      return { resource, object: await modules.client.get(resource, { cluster, namespace: '', name }) };
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return { resource, object: undefined };
      throw error;
    }
  };
}
