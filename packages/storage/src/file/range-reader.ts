import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { ListOptions, ListResult } from '../interface.ts';
import { compareKeys, lowerBound } from '../key-order.ts';
import type { Former } from './history.ts';
import type { Entry } from './record.ts';
import type { State } from './state.ts';
import type { ValueReader } from './value-reader.ts';

/** One list over one state, which is taken at once; the values are read afterwards. */
export async function readRange(
  state: State,
  values: ValueReader,
  prefix: string,
  { limit = 0, from = '', revision = state.revision, uncounted = false }: ListOptions,
): Promise<ListResult> {
  const { oldest } = state.history;
  if (revision > state.revision) throw new FutureRevisionError(revision, state.revision);
  if (revision < oldest) throw new CompactedError(revision, oldest);
  const start = compareKeys(from, prefix) > 0 ? from : prefix;
  const end = afterPrefix(prefix);
  const wanted = limit === 0 ? Infinity : limit;
  if (end !== undefined && compareKeys(start, end) >= 0) return { items: [], revision, remaining: 0 };
  if (revision === state.revision) {
    const entries = state.index.scan(start, end, wanted);
    return { items: await values.values(entries), revision, remaining: count(state, start, end) - entries.length };
  }
  // One more than wanted tells whether there is more, which costs less than to count.
  const entries = entriesAt(state, revision, start, end, uncounted ? wanted + 1 : wanted);
  const total = uncounted ? entries.length : countAt(state, revision, start, end);
  if (entries.length > wanted) entries.pop();
  return { items: await values.values(entries), revision, remaining: total - entries.length };
}

/** The state of now with the changes since then undone. */
function entriesAt(state: State, revision: number, start: string, end: string | undefined, wanted: number): Entry[] {
  const former = state.history.before(revision);
  const stop = end === undefined ? former.length : lowerBound(former, end, keyOf);
  let next = lowerBound(former, start, keyOf);
  const entries: Entry[] = [];
  const add = (entry: Entry | undefined): void => {
    if (entry !== undefined && entries.length < wanted) entries.push(entry);
  };
  // What came after the revision is passed over, so one scan may not be enough.
  let from = start;
  while (entries.length < wanted) {
    const limit = wanted - entries.length;
    const present = state.index.scan(from, end, limit);
    for (const entry of present) {
      while (next < stop && compareKeys((former[next] as Former).key, entry.key) < 0) add(former[next++]?.entry);
      if (next < stop && (former[next] as Former).key === entry.key) add(former[next++]?.entry);
      else add(entry);
    }
    if (present.length < limit) break;
    from = `${(present.at(-1) as Entry).key}\0`;
  }
  while (next < stop && entries.length < wanted) add(former[next++]?.entry);
  return entries;
}

/** How many there were. */
function countAt(state: State, revision: number, start: string, end: string | undefined): number {
  const former = state.history.before(revision);
  const stop = end === undefined ? former.length : lowerBound(former, end, keyOf);
  let total = count(state, start, end);
  for (let i = lowerBound(former, start, keyOf); i < stop; i++) {
    const { key, entry } = former[i] as Former;
    if (entry !== undefined) total++;
    if (state.index.get(key) !== undefined) total--;
  }
  return total;
}

const keyOf = ({ key }: Former): string => key;

function count({ index }: State, start: string, end: string | undefined): number {
  return (end === undefined ? index.size : index.rank(end)) - index.rank(start);
}

/** First key after everything that begins with the prefix; undefined for the empty one. */
export function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
