import { CompactedError } from '../errors.ts';
import type { LazyState, LazyValue } from '../capabilities/lazy-read.ts';
import { readBatches } from './bulk-reader.ts';
import { prefixEnd } from './range-reader.ts';
import { type Entry, recordHeaderBytes } from './record.ts';
import type { StoreState } from './store-state.ts';
import type { ValueReader } from './value-reader.ts';

/**
 * The current state, whose values are read on demand. All segments are held open until it is released, so every record
 * stays readable at its old position, and at its new one after a segment compaction. Undefined when the store has keys
 * outside the prefix.
 */
export function lazyStateOf(state: StoreState, values: ValueReader, prefix: string): LazyState | undefined {
  const { revision, history } = state;
  const view = state.index.freeze();
  const end = prefixEnd(prefix);
  if (view.rank(prefix) > 0 || (end !== undefined && view.rank(end) < view.size)) return undefined;
  const held = [...state.segments];
  for (const segment of held) segment.hold();
  let released: Promise<unknown> | undefined;
  return {
    revision,
    tree: (make) => view.map((entry) => make(deferred(entry))),
    changes: (after) => {
      if (after < history.oldest) throw new CompactedError(after, history.oldest);
      return history.after(after, revision - after).map(({ entry, previous }) => ({
        key: entry.key,
        revision: entry.revision,
        current: entry.kind === 'delete' ? undefined : deferred(entry),
        previous: previous && deferred(previous),
      }));
    },
    readSync: (handle) => values.readValueSync(handle as Entry),
    readBatches: (handles) => readBatches(handles as readonly Entry[], new Set(), values),
    release: async () => {
      released ??= Promise.all(held.map((segment) => segment.release()));
      await released;
    },
  };
}

function deferred(entry: Entry): LazyValue {
  const { key, revision, bytes } = entry;
  return { key, revision, length: bytes - recordHeaderBytes - Buffer.byteLength(key), handle: entry };
}
