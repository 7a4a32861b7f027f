import type { Scenario, Step } from '../../e2e/conformance/scenario.ts';
import type { Excuse } from './deliberate-differences.ts';
import { classOf } from './difference-class.ts';
import type { Comparison, StepDifference } from './play-on-both.ts';

interface Totals {
  scenarios: number;
  steps: number;
  different: number;
  excused: number;
  unstable: number;
  leftOut: number;
}

const none = (): Totals => ({ scenarios: 0, steps: 0, different: 0, excused: 0, unstable: 0, leftOut: 0 });

/** The first step of a scenario that differs; later ones may be its consequence. */
export interface Example {
  readonly scenario: Scenario;
  readonly first: StepDifference;
}

/** Counts differences by topic and by class, and prints them. */
export class Report {
  readonly #topics = new Map<string, Totals>();
  readonly #classes = new Map<string, { count: number; readonly example: Example }>();
  readonly #excuses = new Map<number, Excuse[]>();

  add(scenario: Scenario, comparison: Comparison, unstable: ReadonlySet<number>): void {
    const { compared, excused, excuses, different } = comparison;
    for (const excuse of excuses) this.#excuses.set(excuse.entry, [...(this.#excuses.get(excuse.entry) ?? []), excuse]);
    const totals = this.#totals(scenario);
    const stable = different.filter(({ step }) => !unstable.has(step));
    totals.scenarios++;
    totals.steps += compared;
    totals.excused += excused;
    totals.different += stable.length;
    totals.unstable += different.length - stable.length;
    const [first] = stable;
    if (first === undefined) return;
    const name = `${scenario.topic} | ${classOf(first)}`;
    const known = this.#classes.get(name);
    if (known === undefined) this.#classes.set(name, { count: 1, example: { scenario, first } });
    else known.count++;
  }

  /** The reference was too slow for the scenario. */
  leaveOut(scenario: Scenario): void {
    this.#totals(scenario).leftOut++;
  }

  #totals({ topic }: Scenario): Totals {
    const totals = this.#topics.get(topic) ?? none();
    this.#topics.set(topic, totals);
    return totals;
  }

  get differences(): number {
    return [...this.#topics.values()].reduce((sum, { different }) => sum + different, 0);
  }

  /** Differences per 1,000 steps, by topic. */
  figures(): string {
    const rows = [...this.#topics.entries()].map(([topic, totals]) => [
      topic,
      totals.scenarios,
      totals.steps,
      totals.different,
      ((totals.different * 1000) / Math.max(1, totals.steps)).toFixed(1),
      totals.excused,
      totals.unstable,
      totals.leftOut,
    ]);
    const lines = [
      ['topic', 'scenarios', 'steps', 'different', 'per 1,000', 'deliberate', 'unstable', 'left out'],
      ...rows,
    ];
    return lines
      .map((line) =>
        line.map((cell, index) => String(cell)[index === 0 ? 'padEnd' : 'padStart'](index === 0 ? 18 : 10)).join(' '),
      )
      .join('\n');
  }

  /** For each entry of the list, in its order: how many differences it matched, and the distinct ones among the first. */
  excuses(reasons: readonly string[]): string {
    return reasons
      .map((reason, entry) => {
        const excuses = this.#excuses.get(entry) ?? [];
        const lines = new Set(
          excuses.map(({ request, difference: { at, reference, subject } }) =>
            [requestLine(request).slice(0, 120), at, brief(reference), brief(subject)].join(' | '),
          ),
        );
        return [`${excuses.length}× ${reason}`, ...[...lines].slice(0, shownExcuses).map((line) => `    ${line}`)].join(
          '\n',
        );
      })
      .join('\n');
  }

  /** Classes by the number of scenarios in which they come first. */
  classes(): { name: string; count: number; example: Example }[] {
    return [...this.#classes.entries()]
      .map(([name, { count, example }]) => ({ name, count, example }))
      .sort((a, b) => b.count - a.count);
  }
}

const shownExcuses = 12;

/** A scenario and its first difference, for a person to read. */
export function printed({ scenario, first }: Example): string {
  return [
    `  scenario ${scenario.name}`,
    ...scenario.steps
      .slice(0, first.step + 1)
      .map((step, index) => `  ${index === first.step ? '>' : ' '} ${requestLine(step)}`),
    ...first.differences.flatMap(({ at, reference, subject }) => [
      `    at ${at}`,
      `      reference ${shown(reference)}`,
      `      subject   ${shown(subject)}`,
    ]),
  ].join('\n');
}

function requestLine(step: Step): string {
  if (step.pause !== undefined) return `pause ${step.pause}`;
  if (step.watch !== undefined) return `watch ${step.path}`;
  if (step.collect !== undefined) return 'collect the events';
  const as = step.as === undefined ? '' : ` as ${step.as}`;
  const headers = step.headers === undefined ? '' : ` ${JSON.stringify(step.headers)}`;
  const body = step.bodyText ?? (step.body === undefined ? '' : JSON.stringify(step.body));
  return `${step.method ?? 'GET'} ${step.path}${as}${headers} ${body}`.trimEnd();
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? '(nothing)').slice(0, 900);
const brief = (value: unknown): string => shown(value).slice(0, 160);
