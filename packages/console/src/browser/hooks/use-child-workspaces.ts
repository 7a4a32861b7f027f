import { useMemo } from 'react';
import { collectionPath } from '../data/api-paths.ts';
import { objectCodec } from '../data/codec.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { ReflectorOptions } from '../data/reflector.ts';
import type { Workspace } from '../model/workspace.ts';
import { useLiveList } from './use-live-list.ts';

const address = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };

/** The workspaces directly below one, live. */
export function useChildWorkspaces(cluster: string | undefined): LiveSnapshot<Workspace> {
  const options = useMemo(
    () => (cluster === undefined ? undefined : { path: collectionPath({ ...address, cluster }), codec: objectCodec }),
    [cluster],
  ) as ReflectorOptions<Workspace> | undefined;
  return useLiveList(options);
}
