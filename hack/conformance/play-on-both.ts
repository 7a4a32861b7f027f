import {
  observeScenario,
  type Attempt,
  type Observation,
  type ObserveOptions,
} from '../../e2e/conformance/observe-scenario.ts';
import { PairedUids } from '../../e2e/conformance/paired-uids.ts';
import type { Scenario, Step } from '../../e2e/conformance/scenario.ts';
import type { ScenarioTransport } from '../../e2e/conformance/transport.ts';
import type { DeliberateDifferences, Excuse } from './deliberate-differences.ts';
import { differencesOf, type Difference } from './differences.ts';
import { defaultMeetingOptions, Meeting, type Side } from './meeting.ts';

export interface Servers {
  readonly reference: ScenarioTransport;
  readonly subject: ScenarioTransport;
}

/** A step that the two servers answer differently, without what is deliberate. */
export interface StepDifference {
  readonly step: number;
  readonly request: Step;
  readonly statuses: readonly [number, number];
  readonly differences: readonly Difference[];
}

export interface Comparison {
  /** Steps that were compared. */
  readonly compared: number;
  readonly different: readonly StepDifference[];
  /** Steps at which all that differs is deliberate. */
  readonly excused: number;
  /** What the entries of the list matched, at all steps. */
  readonly excuses: readonly Excuse[];
  readonly reference: readonly Observation[];
}

const timeoutSeconds = 5;
/** Places of one answer that are kept. */
const shownPlaces = 12;

const started = Math.floor(Date.now() / 1000) * 1000;
let plays = 0;
/** Never used before on these servers: not by an earlier run, and not by a process that runs at the same time. */
const freshRun = (): string => `r${(started + plays++).toString(36)}${process.pid.toString(36)}`;

const observe = (
  scenario: Scenario,
  run: string,
  transport: ScenarioTransport,
  repeat?: ObserveOptions['repeat'],
): Promise<Observation[]> =>
  observeScenario(scenario, { timeoutSeconds, run, observeFailures: true, repeat }, transport);

/** Both at the same time; what kcp's controllers write is read until neither side changes. */
async function observeBoth(
  scenario: Scenario,
  { reference, subject }: Servers,
  deliberate: DeliberateDifferences,
): Promise<[Observation[], Observation[]]> {
  const run = freshRun();
  if (scenario.kcp !== true) return Promise.all([observe(scenario, run, reference), observe(scenario, run, subject)]);
  const uids = new PairedUids();
  const meeting = new Meeting(defaultMeetingOptions, {
    differ: (step, attempts) => {
      const [left, right] = [attempts.get('reference') as Attempt, attempts.get('subject') as Attempt];
      const differences = differencesOf(left.seen, right.seen, uids);
      return deliberate.unexplained(scenario.steps[step] as Step, differences).length > 0;
    },
  });
  const side = (name: Side, transport: ScenarioTransport): Promise<Observation[]> =>
    observe(scenario, run, transport, (index, step, send) => meeting.attempt(name, index, step, send)).catch(
      (error: unknown) => {
        meeting.fail(error);
        throw error;
      },
    );
  return Promise.all([side('reference', reference), side('subject', subject)]);
}

/** Plays a scenario on both servers at the same time, under names of its own, and compares step by step. */
export async function playOnBoth(
  scenario: Scenario,
  servers: Servers,
  deliberate: DeliberateDifferences,
): Promise<Comparison> {
  const [expected, seen] = await observeBoth(scenario, servers, deliberate);
  const different: StepDifference[] = [];
  const excuses: Excuse[] = [];
  let excused = 0;
  const uids = new PairedUids();
  let compared = 0;
  for (const [index, observation] of expected.entries()) {
    const other = seen[index];
    if (other === undefined) break;
    // A reference that panics closes the connection.
    if (observation.seen.status === 0) continue;
    const all = differencesOf(observation.seen, other.seen, uids);
    const step = scenario.steps[observation.step] as Step;
    const differences = deliberate.unexplained(step, all);
    excuses.push(...deliberate.excuses(step, all));
    if (differences.length > 0)
      different.push({
        step: observation.step,
        request: step,
        statuses: [observation.seen.status, other.seen.status],
        differences: differences.slice(0, shownPlaces),
      });
    else if (all.length > 0) excused++;
    compared++;
    if (deliberate.ends(step, all)) break;
  }
  return { compared, different, excused, excuses, reference: expected };
}

/**
 * Steps whose answers differ between plays on the reference itself: their differences prove nothing. `first` is what a play
 * showed. Errors in the order of one of Go's maps often come twice in the same order, so the reference plays up to `most`
 * times, until all of the `doubtful` steps are unstable.
 */
export async function unstableSteps(
  scenario: Scenario,
  { reference }: Servers,
  first: readonly Observation[],
  { doubtful, most }: { readonly doubtful: ReadonlySet<number>; readonly most: number },
): Promise<ReadonlySet<number>> {
  const unstable = new Set<number>();
  for (let play = 0; play < most; play++) {
    const next = await observe(scenario, freshRun(), reference);
    const uids = new PairedUids();
    for (const [index, { step, seen }] of first.entries())
      if (differencesOf(seen, next[index]?.seen ?? { status: 0 }, uids).length > 0) unstable.add(step);
    if (doubtful.size > 0 && doubtful.isSubsetOf(unstable)) break;
  }
  return unstable;
}
