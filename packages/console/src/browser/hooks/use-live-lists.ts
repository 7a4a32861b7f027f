import { useCallback, useMemo, useRef, useSyncExternalStore } from 'react';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { ReflectorOptions } from '../data/reflector.ts';
import { useApp } from './app-context.ts';

/** Several collections that stay current, by the keys of the caller. `of` has to be stable between renders. */
export function useLiveLists<T>(of: ReadonlyMap<string, ReflectorOptions<T>>): ReadonlyMap<string, LiveSnapshot<T>> {
  const { pool } = useApp();
  const last = useRef<ReadonlyMap<string, LiveSnapshot<T>>>(new Map());
  const subscribe = useCallback(
    (listener: () => void) => {
      const unsubscribe = [...of.values()].map((options) => pool.subscribe(options, listener));
      return () => {
        for (const end of unsubscribe) end();
      };
    },
    [pool, of],
  );
  const read = useMemo(
    () => () => {
      const next = new Map<string, LiveSnapshot<T>>();
      for (const [key, options] of of) {
        const snapshot = pool.find(options)?.snapshot();
        if (snapshot !== undefined) next.set(key, snapshot);
      }
      const isSame =
        next.size === last.current.size && [...next].every(([key, value]) => last.current.get(key) === value);
      if (!isSame) last.current = next;
      return last.current;
    },
    [pool, of],
  );
  return useSyncExternalStore(subscribe, read);
}
