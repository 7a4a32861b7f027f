import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { clusterPath } from '../data/api-paths.ts';
import { discoveryAccept, resourcesOf, type ApiResource, type DiscoveryList } from '../model/discovery.ts';
import { useApp } from './app-context.ts';

/** The resources that a workspace serves. */
export function useDiscovery(cluster: string): UseQueryResult<readonly ApiResource[]> {
  const { api } = useApp();
  return useQuery({
    queryKey: ['discovery', cluster],
    queryFn: async ({ signal }) => {
      const ask = (path: string): Promise<DiscoveryList> =>
        api.json<DiscoveryList>(`${clusterPath(cluster)}/${path}`, { accept: discoveryAccept, signal });
      return resourcesOf(await Promise.all([ask('api'), ask('apis')]));
    },
    staleTime: 30_000,
  });
}
