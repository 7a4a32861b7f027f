import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { ListOptions, ListResult } from '../interface.ts';
import { compareKeys } from '../key-order.ts';
import type { Entry } from './record.ts';
import type { State } from './state.ts';
import type { ValueReader } from './value-reader.ts';

/** One list over one state, which is taken at once; the values are read afterwards. */
export async function readRange(
  state: State,
  values: ValueReader,
  prefix: string,
  { limit = 0, from = '', revision = state.revision }: ListOptions,
): Promise<ListResult> {
  const { oldest } = state.history;
  if (revision > state.revision) throw new FutureRevisionError(revision, state.revision);
  if (revision < oldest) throw new CompactedError(revision, oldest);
  const start = compareKeys(from, prefix) > 0 ? from : prefix;
  const end = afterPrefix(prefix);
  const wanted = limit === 0 ? Infinity : limit;
  if (end !== undefined && compareKeys(start, end) >= 0) return { items: [], revision, remaining: 0 };
  const { entries, total } =
    revision === state.revision
      ? { entries: state.index.scan(start, end, wanted), total: count(state, start, end) }
      : entriesAt(state, revision, start, end, wanted);
  return { items: await values.values(entries), revision, remaining: total - entries.length };
}

/** The state of now with the changes since then undone. */
function entriesAt(
  state: State,
  revision: number,
  start: string,
  end: string | undefined,
  wanted: number,
): { readonly entries: Entry[]; readonly total: number } {
  const inRange = (key: string): boolean =>
    compareKeys(key, start) >= 0 && (end === undefined || compareKeys(key, end) < 0);
  const before = state.history.before(revision, inRange);
  const restored = [...before.values()]
    .filter((entry) => entry !== undefined)
    .sort((a, b) => compareKeys(a.key, b.key));
  let total = count(state, start, end) + restored.length;
  for (const key of before.keys()) if (state.index.get(key) !== undefined) total--;
  const entries: Entry[] = [];
  let next = 0;
  for (const entry of state.index.scan(start, end, wanted + before.size)) {
    if (before.has(entry.key)) continue;
    while (next < restored.length && compareKeys((restored[next] as Entry).key, entry.key) < 0) {
      entries.push(restored[next++] as Entry);
    }
    entries.push(entry);
  }
  while (next < restored.length) entries.push(restored[next++] as Entry);
  return { entries: entries.length > wanted ? entries.slice(0, wanted) : entries, total };
}

function count({ index }: State, start: string, end: string | undefined): number {
  return (end === undefined ? index.size : index.rank(end)) - index.rank(start);
}

/** First key after everything that begins with the prefix; undefined for the empty one. */
function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
