import type { Storage } from '../interface.ts';

/** A store that encrypts its values. */
export interface StaleValueStorage {
  /** True when the value was written with a key that is not the first one any more: it should be written again. */
  isStale(key: string): Promise<boolean>;
}

export async function isStaleValue(storage: Storage, key: string): Promise<boolean> {
  return (await (storage as Partial<StaleValueStorage>).isStale?.(key)) ?? false;
}
