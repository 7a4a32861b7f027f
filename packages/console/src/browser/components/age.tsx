import { useSyncExternalStore, type ReactElement } from 'react';
import { ageText } from '../model/age.ts';

/** One timer for all ages on the screen. */
const tickMs = 10_000;
let now = Date.now();
const listeners = new Set<() => void>();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** How long ago, with the exact time when the pointer rests on it. */
export function Age({ of }: { readonly of: string }): ReactElement {
  const current = useSyncExternalStore(subscribe, () => now);
  const exact = new Date(of);
  const title = Number.isNaN(exact.getTime()) ? of : exact.toLocaleString();
  return (
    <time dateTime={of} title={title}>
      {ageText(of, Math.max(current, exact.getTime()))}
    </time>
  );
}
