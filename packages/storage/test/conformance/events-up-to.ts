import type { Storage, StorageEvent } from '../../src/interface.ts';

/** The events of a prefix after a revision, up to another revision that the watch reaches. */
export async function eventsUpTo(store: Storage, prefix: string, after: number, last: number): Promise<StorageEvent[]> {
  const events: StorageEvent[] = [];
  if (last <= after) return events;
  const { signal } = new AbortController();
  for await (const batch of store.watch(prefix, { after, signal })) {
    events.push(...batch.events);
    if (batch.revision >= last) break;
  }
  return events;
}
