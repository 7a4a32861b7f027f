import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { ListOptions, ListResult } from '../interface.ts';
import { compareKeys, lowerBound } from '../key-order.ts';
import type { PriorVersion } from './history.ts';
import type { Entry } from './record.ts';
import type { StoreState } from './store-state.ts';
import type { ValueReader } from './value-reader.ts';

/** Lists one state, which is captured synchronously; its values are read afterwards. */
export async function readRange(
  state: StoreState,
  values: ValueReader,
  prefix: string,
  { limit = 0, from = '', revision = state.revision, skipRemainingCount = false }: ListOptions,
): Promise<ListResult> {
  const { oldest } = state.history;
  if (revision > state.revision) throw new FutureRevisionError(revision, state.revision);
  if (revision < oldest) throw new CompactedError(revision, oldest);
  const start = compareKeys(from, prefix) > 0 ? from : prefix;
  const end = prefixEnd(prefix);
  const wanted = limit === 0 ? Infinity : limit;
  if (end !== undefined && compareKeys(start, end) >= 0) return { items: [], revision, remaining: 0 };
  if (revision === state.revision) {
    const entries = state.index.scan(start, end, wanted);
    return { items: await values.values(entries), revision, remaining: count(state, start, end) - entries.length };
  }
  // One entry more than requested shows whether there are more, without counting them.
  const entries = entriesAt(state, revision, start, end, skipRemainingCount ? wanted + 1 : wanted);
  const total = skipRemainingCount ? entries.length : countAt(state, revision, start, end);
  if (entries.length > wanted) entries.pop();
  return { items: await values.values(entries), revision, remaining: total - entries.length };
}

/** The entries at an earlier revision: the current ones with later changes reverted. */
function entriesAt(
  state: StoreState,
  revision: number,
  start: string,
  end: string | undefined,
  wanted: number,
): Entry[] {
  const prior = state.history.before(revision);
  const stop = end === undefined ? prior.length : lowerBound(prior, end, keyOf);
  let next = lowerBound(prior, start, keyOf);
  const entries: Entry[] = [];
  const add = (entry: Entry | undefined): void => {
    if (entry !== undefined && entries.length < wanted) entries.push(entry);
  };
  // Keys that were created after the revision are skipped, so one scan may not suffice.
  let from = start;
  while (entries.length < wanted) {
    const limit = wanted - entries.length;
    const present = state.index.scan(from, end, limit);
    for (const entry of present) {
      while (next < stop && compareKeys((prior[next] as PriorVersion).key, entry.key) < 0) add(prior[next++]?.entry);
      if (next < stop && (prior[next] as PriorVersion).key === entry.key) add(prior[next++]?.entry);
      else add(entry);
    }
    if (present.length < limit) break;
    from = `${(present.at(-1) as Entry).key}\0`;
  }
  while (next < stop && entries.length < wanted) add(prior[next++]?.entry);
  return entries;
}

/** Number of keys at an earlier revision. */
function countAt(state: StoreState, revision: number, start: string, end: string | undefined): number {
  const prior = state.history.before(revision);
  const stop = end === undefined ? prior.length : lowerBound(prior, end, keyOf);
  let total = count(state, start, end);
  for (let i = lowerBound(prior, start, keyOf); i < stop; i++) {
    const { key, entry } = prior[i] as PriorVersion;
    if (entry !== undefined) total++;
    if (state.index.get(key) !== undefined) total--;
  }
  return total;
}

const keyOf = ({ key }: PriorVersion): string => key;

function count({ index }: StoreState, start: string, end: string | undefined): number {
  return (end === undefined ? index.size : index.rank(end)) - index.rank(start);
}

/** The first key after all keys with the prefix; undefined for the empty prefix. */
export function prefixEnd(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
