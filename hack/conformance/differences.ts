import { isDeepStrictEqual } from 'node:util';
import type { Value } from '../../e2e/conformance/json-pointer.ts';
import type { Seen } from '../../e2e/conformance/observe-scenario.ts';
import { sortedManagers } from '../../e2e/conformance/sorted-managers.ts';

/** One place at which two answers differ; a side that has nothing there is undefined. */
export interface Difference {
  readonly at: string;
  readonly reference: Value;
  readonly subject: Value;
}

const most = 12;

/** Where the answers to one step differ, at most twelve places. */
export function differencesOf(reference: Seen, subject: Seen): Difference[] {
  const found: Difference[] = [];
  collect(sortedManagers(plain(reference)), sortedManagers(plain(subject)), '', found);
  return found;
}

function collect(reference: Value, subject: Value, at: string, found: Difference[]): void {
  if (found.length >= most || isDeepStrictEqual(reference, subject)) return;
  if (isContainer(reference) && isContainer(subject) && Array.isArray(reference) === Array.isArray(subject)) {
    for (const key of new Set([...Object.keys(reference), ...Object.keys(subject)]))
      collect(reference[key], subject[key], `${at}/${key}`, found);
    return;
  }
  found.push({ at, reference, subject });
}

const isContainer = (value: Value): value is Record<string, Value> => typeof value === 'object' && value !== null;
const plain = (value: unknown): Value => JSON.parse(JSON.stringify(value)) as Value;
