import { useCallback, useMemo, useSyncExternalStore } from 'react';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { ReflectorOptions } from '../data/reflector.ts';
import { useApp } from './app-context.ts';

const nothing: LiveSnapshot<never> = { items: [], columns: [], isSynced: false, failure: undefined };

/**
 * A collection that stays current while the component is mounted; components that ask for the same share one watch. Without
 * options nothing is asked for.
 */
export function useLiveList<T>(options: ReflectorOptions<T> | undefined): LiveSnapshot<T> {
  const { pool } = useApp();
  const { path, labelSelector, fieldSelector, codec, pageSize } = options ?? {};
  const stable = useMemo<ReflectorOptions<T> | undefined>(
    () =>
      path === undefined || codec === undefined
        ? undefined
        : { path, labelSelector, fieldSelector, codec, ...(pageSize === undefined ? {} : { pageSize }) },
    [path, labelSelector, fieldSelector, codec, pageSize],
  );
  const subscribe = useCallback(
    (listener: () => void) => (stable === undefined ? () => undefined : pool.subscribe(stable, listener)),
    [pool, stable],
  );
  const snapshot = useCallback(
    () => (stable === undefined ? nothing : (pool.find(stable)?.snapshot() ?? nothing)),
    [pool, stable],
  );
  return useSyncExternalStore(subscribe, snapshot);
}
