import { useMemo } from 'react';
import { collectionPath } from '../data/api-paths.ts';
import { objectCodec, type Codec } from '../data/codec.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { ReflectorOptions } from '../data/reflector.ts';
import type { Workspace } from '../model/workspace.ts';
import { useLiveList } from './use-live-list.ts';
import { useLiveLists } from './use-live-lists.ts';

export const workspacesAt = (
  cluster: string,
): { cluster: string; group: string; version: string; resource: string } => ({
  cluster,
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaces',
});

const optionsOf = (cluster: string): ReflectorOptions<Workspace> => ({
  path: collectionPath(workspacesAt(cluster)),
  codec: objectCodec as Codec<Workspace>,
});

/** The workspaces directly below one, live. */
export const useChildWorkspaces = (cluster: string | undefined): LiveSnapshot<Workspace> =>
  useLiveList(useMemo(() => (cluster === undefined ? undefined : optionsOf(cluster)), [cluster]));

/** The same for several. */
export function useChildWorkspacesOf(clusters: readonly string[]): ReadonlyMap<string, LiveSnapshot<Workspace>> {
  const key = clusters.toSorted().join(' ');
  const options = useMemo(() => new Map(key.split(' ').map((cluster) => [cluster, optionsOf(cluster)])), [key]);
  return useLiveLists(options);
}
