import { CompactedError } from '../errors.ts';
import type { DeferredState, DeferredValue } from '../interface.ts';
import { batchesOf } from './bulk-reader.ts';
import { afterPrefix } from './range-reader.ts';
import { type Entry, headBytes } from './record.ts';
import type { State } from './state.ts';
import type { ValueReader } from './value-reader.ts';

/**
 * The present state, of which values are read when somebody asks. All files are held open until it is released, so every
 * record stays readable: where a merge has taken it, or where it was. Undefined when the store has keys beside the prefix.
 */
export function deferState(state: State, values: ValueReader, prefix: string): DeferredState | undefined {
  const { revision, history } = state;
  const view = state.index.freeze();
  const end = afterPrefix(prefix);
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
    read: (place) => values.valueNow(place as Entry),
    batches: (places) => batchesOf(places as readonly Entry[], new Set(), values),
    release: async () => {
      released ??= Promise.all(held.map((segment) => segment.release()));
      await released;
    },
  };
}

function deferred(entry: Entry): DeferredValue {
  const { key, revision, bytes } = entry;
  return { key, revision, length: bytes - headBytes - Buffer.byteLength(key), place: entry };
}
