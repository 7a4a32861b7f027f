import { isDeepStrictEqual } from 'node:util';
import { areAges } from './are-ages.ts';
import { drop, type Value } from './json-pointer.ts';
import { PairedUids } from './paired-uids.ts';
import { observeScenario, type Observation, type ObserveOptions } from './observe-scenario.ts';
import type { Expectation, Scenario } from './scenario.ts';
import { sortedManagers } from './sorted-managers.ts';
import type { ScenarioTransport } from './transport.ts';

/** A step whose answer is not the recorded one. */
export interface Problem {
  readonly step: number;
  readonly text: string;
}

/** Plays one scenario; returns every step whose answer differs from the recorded one. */
export async function playScenario(
  scenario: Scenario,
  options: ObserveOptions,
  transport: ScenarioTransport,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const uids = new PairedUids();
  for (const observation of await observeScenario(scenario, options, transport)) {
    const { step, request } = observation;
    const difference = compare(observation, scenario.steps[step]?.expect ?? {}, uids);
    if (difference !== undefined)
      problems.push({
        step,
        text: `${request.method ?? (request.collect === undefined ? 'GET' : 'collect')} ${request.path ?? request.collect}: ${difference}`,
      });
  }
  return problems;
}

function compare({ request, seen }: Observation, expect: Expectation, uids: PairedUids): string | undefined {
  const expected = plain(expect) as Record<string, Value>;
  for (const part of ['body', 'events'])
    if (expected[part] !== undefined && request.only === undefined) drop(expected[part], request.ignore);
  // What was dropped from a list left a hole, which is null in JSON.
  const want = plain(expected) as Record<string, Value>;
  const got = plain(seen) as Record<string, Value>;
  if (want['headers'] === undefined) delete got['headers'];
  const [left, right] = [sortedManagers(want), sortedManagers(got)];
  return firstDifference(left, uids.renamed(left, right), '');
}

function firstDifference(want: Value, got: Value, path: string): string | undefined {
  if (isDeepStrictEqual(want, got) || areAges(path, want, got)) return undefined;
  if (
    typeof want === 'object' &&
    typeof got === 'object' &&
    want !== null &&
    got !== null &&
    Array.isArray(want) === Array.isArray(got)
  ) {
    const [left, right] = [want as Record<string, Value>, got as Record<string, Value>];
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const difference = firstDifference(left[key], right[key], `${path}/${key}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return `${path === '' ? '/' : path}: want ${JSON.stringify(want)?.slice(0, 600)}, got ${JSON.stringify(got)?.slice(0, 600)}`;
}

const plain = (value: unknown): Value => JSON.parse(JSON.stringify(value)) as Value;
