import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { ApiClient } from '../../data/api-client.ts';
import { clusterPath, collectionPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { workspacesAt } from '../../hooks/use-child-workspaces.ts';
import type { ApiExport, CatalogueEntry } from '../../model/api-export.ts';
import { pathsTo } from '../../model/workspace-tree.ts';

export interface CatalogueItem extends CatalogueEntry {
  /** Undefined when the provider's workspace does not say. */
  readonly mayBind: boolean | undefined;
}

const parallel = 8;
/** Providers are found among so many workspaces; others by their paths. */
const maxWorkspaces = 200;

/**
 * The exports in the workspaces that the user sees near this one: itself, everything above it, `root`, and what is directly below those. `also`
 * names one more, which may be anywhere.
 */
export function useCatalogue(cluster: string, also: string): UseQueryResult<readonly CatalogueItem[]> {
  const { api } = useApp();
  return useQuery({
    queryKey: ['catalogue', cluster, also],
    queryFn: async ({ signal }) => {
      const above = [...new Set([...pathsTo(cluster), 'root'])];
      const below = await Promise.all(above.map((path) => childrenOf(api, path, signal)));
      const places = [...new Set([...(also === '' ? [] : [also]), ...above, ...below.flat()])].slice(0, maxWorkspaces);
      const found = await inParallel(places, (path) => exportsOf(api, path, signal));
      return inParallel(found.flat(), async (entry) => ({ ...entry, mayBind: await mayBind(api, entry, signal) }));
    },
    staleTime: 30_000,
  });
}

async function childrenOf(api: ApiClient, path: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const { items } = await api.json<{ readonly items: readonly KubeObject[] }>(
      `${collectionPath(workspacesAt(path))}?limit=${maxWorkspaces}`,
      { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', signal },
    );
    return items.map(({ metadata }) => `${path}:${metadata.name}`);
  } catch {
    // Workspaces that the user may not list have nothing for this user.
    return [];
  }
}

async function exportsOf(api: ApiClient, provider: string, signal: AbortSignal): Promise<readonly CatalogueEntry[]> {
  try {
    const { items } = await api.json<{ readonly items: readonly ApiExport[] }>(
      `${clusterPath(provider)}/apis/apis.kcp.io/v1alpha2/apiexports?limit=500`,
      { signal },
    );
    return items.map((item) => ({ provider, export: item }));
  } catch {
    return [];
  }
}

async function mayBind(
  api: ApiClient,
  { provider, export: { metadata } }: CatalogueEntry,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group: 'apis.kcp.io', resource: 'apiexports', verb: 'bind', name: metadata.name } },
  };
  try {
    const { status } = await api.json<{ readonly status?: { readonly allowed?: boolean } }>(
      `${clusterPath(provider)}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
      { method: 'POST', body: JSON.stringify(review), signal },
    );
    return status?.allowed;
  } catch {
    return undefined;
  }
}

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const rest = items.entries();
  const run = async (): Promise<void> => {
    for (const [index, item] of rest) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, run));
  return results;
}
