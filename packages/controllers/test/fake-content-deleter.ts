import type { LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindingFinalizer, apiBindings } from '@multiplane/apis';
import type { ObjectMetadataRecord } from '@multiplane/client';
import type { ContentDeletionOutcome, ContentDeleter } from '../src/core/content-deleter.ts';
import { logicalClusters } from '../src/tenancy/kinds.ts';
import type { FakeApi } from './fake-api.ts';

const order = ['content', 'namespaces', apiBindings.resource, 'clusterrolebindings'] as const;

/** A ContentDeleter over a FakeApi, one write at a time. `alive` throws before a write of a process that has crashed. */
export function fakeContentDeleter(api: FakeApi, alive: () => void): ContentDeleter {
  const all = (cluster: LogicalClusterName): ObjectMetadataRecord[] =>
    [...api.informers.metadata.list({ cluster })].filter(
      ({ resource }) => resource.resource !== logicalClusters.resource,
    );
  return {
    empty: async (cluster): Promise<ContentDeletionOutcome> => {
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
