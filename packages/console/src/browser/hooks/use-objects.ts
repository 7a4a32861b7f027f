import { useMemo } from 'react';
import { collectionPath, type ResourceAddress } from '../data/api-paths.ts';
import { objectCodec, type Codec } from '../data/codec.ts';
import type { KubeObject } from '../data/kube-object.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import { useLiveList } from './use-live-list.ts';

/** All objects of a resource, live. Without an address nothing is asked for. */
export function useObjects<T extends KubeObject>(address: ResourceAddress | undefined): LiveSnapshot<T> {
  const path = address === undefined ? undefined : collectionPath(address);
  const options = useMemo(
    () => (path === undefined ? undefined : { path, codec: objectCodec as unknown as Codec<T> }),
    [path],
  );
  return useLiveList(options);
}
