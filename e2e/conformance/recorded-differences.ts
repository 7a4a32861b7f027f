import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';

const list = join(import.meta.dirname, 'recorded-differences.yaml');

/** What of recorded scenarios may differ, by scenario; each with the reason. Keys are `<topic>/<file without .json>`. */
export interface RecordedDifferences {
  /** Scenarios that are not played. */
  readonly leftOut: Readonly<Record<string, string>>;
  /** Steps that are answered otherwise: every one of them, or the list would not shrink. */
  readonly different: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /** Steps whose answers may differ, and may not. */
  readonly raced: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /** Parts of all answers of a scenario that are not compared. */
  readonly ignored: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** The entries of recorded-differences.yaml for scenarios of one server. Throws if an entry is malformed. */
export function recordedDifferences(
  source: 'kcp' | 'kubernetes',
  text = readFileSync(list, 'utf8'),
): RecordedDifferences {
  const leftOut: Record<string, string> = {};
  const tables = { steps: {}, mayDiffer: {}, ignored: {} } as Record<string, Record<string, Record<string, string>>>;
  for (const entry of (parseYaml(text) ?? []) as Fields[]) {
    const { kcp, kubernetes, reason, played, ...lists } = entry;
    const scenario = kcp ?? kubernetes;
    const [kind = '', ...others] = Object.keys(lists);
    const places = lists[kind];
    const isLeftOut = played === false && kind === '';
    const isList = tables[kind] !== undefined && others.length === 0 && Array.isArray(places) && played === undefined;
    if (typeof scenario !== 'string' || typeof reason !== 'string' || (!isLeftOut && !isList))
      throw new Error(`malformed entry of the recorded differences: ${JSON.stringify(entry)}`);
    if (entry[source] === undefined) continue;
    if (isLeftOut) leftOut[scenario] = reason;
    else for (const each of places as unknown[]) ((tables[kind] ?? {})[scenario] ??= {})[String(each)] = reason;
  }
  return {
    leftOut,
    different: tables['steps'] ?? {},
    raced: tables['mayDiffer'] ?? {},
    ignored: tables['ignored'] ?? {},
  };
}
