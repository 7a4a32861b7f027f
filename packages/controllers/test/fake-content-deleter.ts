import type { LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindingFinalizer, apiBindings } from '@multiplane/apis';
import type { ObjectMetadataRecord } from '@multiplane/client';
import type { ContentLeft, ContentRemover } from '../core/content-remover.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import type { FakeApi } from './fake-api.ts';

const order = ['content', 'namespaces', apiBindings.resource, 'clusterrolebindings'] as const;

/** A round over what `api` holds, one write at a time; `alive` throws before a write that does not happen any more. */
export function fakeContent(api: FakeApi, alive: () => void): ContentRemover {
  const all = (cluster: LogicalClusterName): ObjectMetadataRecord[] =>
    [...api.informers.metadata.list({ cluster })].filter(
      ({ resource }) => resource.resource !== logicalClusters.resource,
    );
  return {
    empty: async (cluster): Promise<ContentLeft> => {
      for (const step of order) {
        for (const record of all(cluster)) {
          const { resource } = record.resource;
          if (step === 'content' ? order.some((name) => name === resource) : step !== resource) continue;
          const { finalizers = [], deletionTimestamp } = record.metadata;
          if (
            step === apiBindings.resource &&
            all(cluster).some((one) => !order.slice(2).some((name) => name === one.resource.resource))
          )
            return 'held';
          alive();
          if (step !== 'content' && finalizers.every((name) => name === 'kubernetes' || name === apiBindingFinalizer))
            api.drop(record.resource, record);
          else if (deletionTimestamp === undefined) await api.client.delete(record.resource, record);
        }
        if (
          step === 'content' &&
          all(cluster).some(({ resource }) => !order.some((name) => name === resource.resource))
        )
          return 'held';
      }
      return all(cluster).length === 0 ? 'nothing' : 'held';
    },
    release: async (resource, cluster, { metadata: { namespace = '', name = '' } }) => {
      alive();
      api.drop(resource, { cluster, namespace, name });
    },
  };
}
