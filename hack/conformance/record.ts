import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Observation } from '../../e2e/conformance/observe-scenario.ts';
import type { Scenario, Step } from '../../e2e/conformance/scenario.ts';

/**
 * Keeps scenarios with the reference's answers, and of these only such that show something new: an answer of a method,
 * kind, status and text (without names and numbers) that no scenario before has shown.
 */
export class Recording {
  readonly #shown = new Set<string>();
  readonly #byTopic = new Map<string, Scenario[]>();
  readonly #most: number;
  /** At most so many scenarios a topic. */
  constructor(most: number) {
    this.#most = most;
  }

  isFull(topic: string): boolean {
    return (this.#byTopic.get(topic)?.length ?? 0) >= this.#most;
  }

  add(scenario: Scenario, answers: readonly Observation[]): boolean {
    const features = answers.map((answer) => featureOf(scenario, answer));
    // When an old revision is compacted is up to the server, and to how long it runs.
    if (answers.some(({ seen }) => seen.status === 410)) return false;
    // Controllers write the status of quotas at any time.
    if (scenario.steps.some(({ path }) => path?.includes('resourcequotas'))) return false;
    if (features.filter((feature) => !this.#shown.has(feature)).length === 0) return false;
    for (const feature of features) this.#shown.add(feature);
    const seen = new Map(answers.map(({ step, seen }) => [step, seen]));
    const steps = scenario.steps.map((step, index): Step => {
      const answer = seen.get(index);
      if (answer === undefined) return step;
      const { quiet: _quiet, ...rest } = withShortWait(step);
      // A replay waits for as many events as were recorded, and not for silence.
      const collected = answer.events === undefined ? {} : { count: Math.max(1, answer.events.length) };
      return { ...(answer.events?.length === 0 ? withShortWait(step) : rest), ...collected, expect: answer };
    });
    const list = this.#byTopic.get(scenario.topic) ?? [];
    this.#byTopic.set(scenario.topic, [...list, { ...scenario, steps }]);
    return true;
  }

  get count(): number {
    return [...this.#byTopic.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** One file a topic, one scenario a line. */
  write(folder: string): void {
    mkdirSync(folder, { recursive: true });
    for (const [topic, scenarios] of this.#byTopic)
      writeFileSync(join(folder, `${topic}.jsonl`), scenarios.map((each) => `${JSON.stringify(each)}\n`).join(''));
  }
}

/** The reference's controllers may need minutes on a busy machine, a replay does not. */
const withShortWait = (step: Step): Step =>
  step.until === undefined
    ? step
    : { ...step, until: { ...step.until, within: Math.min(step.until.within ?? replaySeconds, replaySeconds) } };
const replaySeconds = 20;

function featureOf({ topic, steps }: Scenario, { step, seen }: Observation): string {
  const request = steps[step] as Step;
  const body = (seen.body ?? {}) as { message?: unknown; kind?: unknown };
  const resource = request.path
    .replace(/\?.*/, '')
    .split('/')
    .filter((part) => !part.includes('{{'))
    .slice(2, 5)
    .join('/');
  const text =
    typeof body.message === 'string'
      ? body.message
      : typeof seen.body === 'string'
        ? seen.body
        : body.kind === undefined
          ? ''
          : JSON.stringify(body.kind);
  const general = text
    .replaceAll(/"[^"]*"/g, '"')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 160);
  return [topic, request.method, resource, seen.status, general, seen.events?.length ?? ''].join('|');
}
