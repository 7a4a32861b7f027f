import { useMemo } from 'react';
import { collectionPath } from '../data/api-paths.ts';
import { objectCodec, type Codec } from '../data/codec.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { ApiBinding } from '../model/api-export.ts';
import { useLiveList } from './use-live-list.ts';

export const bindingsAt = (cluster: string): { cluster: string; group: string; version: string; resource: string } => ({
  cluster,
  group: 'apis.kcp.io',
  version: 'v1alpha2',
  resource: 'apibindings',
});

/** The APIs that a workspace has bound, live. */
export function useBindings(cluster: string): LiveSnapshot<ApiBinding> {
  const options = useMemo(
    () => ({ path: collectionPath(bindingsAt(cluster)), codec: objectCodec as Codec<ApiBinding> }),
    [cluster],
  );
  return useLiveList(options);
}
