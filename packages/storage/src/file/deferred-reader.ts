import type { DeferredState } from '../interface.ts';
import { batchesOf, viewAt } from './bulk-reader.ts';
import { afterPrefix } from './range-reader.ts';
import { type Entry, headBytes } from './record.ts';
import type { State } from './state.ts';
import type { ValueReader } from './value-reader.ts';

/**
 * A state whose values are read when somebody asks. All files are held open until it is released, so every record stays
 * readable: where a merge has taken it, or where it was. Undefined when the store has keys beside the prefix.
 */
export function deferState(
  state: State,
  values: ValueReader,
  prefix: string,
  revision: number,
): DeferredState | undefined {
  const view = viewAt(state, revision);
  const end = afterPrefix(prefix);
  if (view.rank(prefix) > 0 || (end !== undefined && view.rank(end) < view.size)) return undefined;
  const held = [...state.segments];
  for (const segment of held) segment.hold();
  let released: Promise<unknown> | undefined;
  return {
    tree: (make) => view.map((entry) => make(entry.key, entry.revision, valueBytesOf(entry), entry)),
    read: (place) => values.valueNow(place as Entry),
    batches: (places) => batchesOf(places as readonly Entry[], new Set(), values),
    release: async () => {
      released ??= Promise.all(held.map((segment) => segment.release()));
      await released;
    },
  };
}

function valueBytesOf({ key, bytes }: Entry): number {
  return bytes - headBytes - Buffer.byteLength(key);
}
