import { useMemo } from 'react';
import { collectionPath, type ResourceAddress } from '../data/api-paths.ts';
import { objectCodec, type Codec } from '../data/codec.ts';
import type { KubeObject } from '../data/kube-object.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import { useLiveList } from './use-live-list.ts';

/** One object that stays current; no item while it does not exist. Without a name nothing is asked for. */
export function useLiveObject<T extends KubeObject>(
  address: ResourceAddress,
  name: string | undefined,
): LiveSnapshot<T> {
  const path = collectionPath(address);
  const options = useMemo(
    () =>
      name === undefined
        ? undefined
        : { path, fieldSelector: `metadata.name=${name}`, codec: objectCodec as unknown as Codec<T> },
    [path, name],
  );
  return useLiveList(options);
}
