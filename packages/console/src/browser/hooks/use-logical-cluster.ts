import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { clusterPath } from '../data/api-paths.ts';
import type { KubeObject } from '../data/kube-object.ts';
import { useApp } from './app-context.ts';

export interface LogicalCluster extends KubeObject {
  readonly spec?: { readonly owner?: { readonly name?: string; readonly cluster?: string } };
  readonly status?: { readonly URL?: string; readonly phase?: string };
}

/** The LogicalCluster behind a workspace: its canonical path, owner and phase. Only who may read it sees it. */
export function useLogicalCluster(cluster: string): UseQueryResult<LogicalCluster> {
  const { api } = useApp();
  return useQuery({
    queryKey: ['logicalcluster', cluster],
    queryFn: ({ signal }) =>
      api.json<LogicalCluster>(`${clusterPath(cluster)}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`, { signal }),
    staleTime: 60_000,
    retry: false,
  });
}
