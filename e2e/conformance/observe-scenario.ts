import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';
import { computed } from './computations.ts';
import { at, drop, type Value } from './json-pointer.ts';
import { Normaliser } from './normaliser.ts';
import type { Scenario, Step, Until } from './scenario.ts';
import { parse, type Answer, type OpenWatch, type ScenarioTransport } from './transport.ts';

const comparedHeaders = [
  'content-type',
  'warning',
  'allow',
  'retry-after',
  'location',
  'cache-control',
  'vary',
  'x-content-type-options',
];
/** Between two requests of an `until`: as often as it was recorded at first, then rarer, since ten scenarios wait at a time. */
const pollMs = 30;
const longestPollMs = 120;
const longestWaitForDifferentMs = 8000;

export interface ObserveOptions {
  /** Limit of one "until" in seconds. */
  readonly timeoutSeconds: number;
  /** Makes names of this run differ from those of others. */
  readonly run: string;
  /** Parts of every answer that may differ. */
  readonly ignore?: readonly string[];
  /** Steps that are answered otherwise here: what they wait for may never come, so they do not wait long. */
  readonly different?: ReadonlySet<number> | undefined;
  /** A request that fails without an answer is observed as status 0; default: the error is thrown. */
  readonly observeFailures?: boolean;
  /** Decides how often a request is sent, in place of the step's own `until`; returns the attempt that counts. */
  readonly repeat?: ((index: number, step: Step, send: () => Promise<Attempt>) => Promise<Attempt>) | undefined;
}

/** The answer to one sending of a request. */
export interface Attempt {
  readonly seen: Seen;
  /** What the step waits for is true of this answer. */
  readonly holds: boolean;
}

/** The answer to one step. */
export interface Observation {
  readonly step: number;
  /** The step with its variables filled in. */
  readonly request: Step;
  readonly seen: Seen;
}

/** Plays one scenario; returns the normalised answer of every step that has one. */
export async function observeScenario(
  scenario: Scenario,
  options: ObserveOptions,
  transport: ScenarioTransport,
): Promise<Observation[]> {
  const variables: Record<string, Value> = { run: options.run };
  const normaliser = new Normaliser({
    run: options.run,
    host: transport.host,
    numberRevisions: scenario.revisions === true,
    kcp: scenario.kcp === true,
    variables,
  });
  const watches = new Map<string, OpenWatch>();
  const observations: Observation[] = [];
  try {
    for (const [index, recorded] of scenario.steps.entries()) {
      const step = filled(ignoring(recorded, options.ignore), variables);
      if (step.watch !== undefined) {
        watches.set(step.watch, await transport.watch(step));
      } else if (step.pause !== undefined) {
        // The recording needs this much time to pass on a server, for example for a timeout of the server's own.
        await delay(step.pause);
      } else if (step.compute !== undefined) {
        for (const [name, what] of Object.entries(step.compute)) variables[name] = computed(what);
      } else {
        const answer =
          step.collect === undefined
            ? answered(index, step, options, transport, normaliser, variables)
            : collected(step, options, watches.get(step.collect) as OpenWatch, normaliser);
        const seen = options.observeFailures === true ? await answer.catch(unanswered) : await answer;
        observations.push({ step: index, request: step, seen });
      }
    }
  } finally {
    for (const watch of watches.values()) watch.close();
  }
  return observations;
}

const unanswered = (error: unknown): Seen => ({
  status: 0,
  body: error instanceof Error ? error.message : 'no answer',
});

const ignoring = (step: Step, ignore: readonly string[] | undefined): Step =>
  ignore === undefined ? step : { ...step, ignore: [...(step.ignore ?? []), ...ignore] };

/** What of an answer, or of a watch, is compared. */
export interface Seen {
  status: number;
  headers?: Record<string, string>;
  body?: Value;
  events?: Value[];
}

async function answered(
  index: number,
  step: Step,
  options: ObserveOptions,
  transport: ScenarioTransport,
  normaliser: Normaliser,
  variables: Record<string, Value>,
): Promise<Seen> {
  const { repeat } = options;
  if (repeat === undefined) {
    const isDifferent = options.different?.has(index) === true;
    return seenIn(await untilHolds(step, isDifferent, options, transport), step, normaliser, variables);
  }
  const { seen } = await repeat(index, step, async () => {
    try {
      const answer = await transport.send(step);
      return {
        seen: seenIn(answer, step, normaliser, variables),
        holds: step.until === undefined || holds(step.until, answer),
      };
    } catch (error) {
      return { seen: unanswered(error), holds: step.until === undefined };
    }
  });
  return seen;
}

function seenIn(answer: Answer, step: Step, normaliser: Normaliser, variables: Record<string, Value>): Seen {
  const document = step.raw === true ? undefined : decoded(step, answer.text);
  for (const [name, pointer] of Object.entries(step.capture ?? {})) variables[name] = at(document, pointer);
  const headers: Record<string, string> = {};
  for (const name of comparedHeaders)
    if (answer.headers[name] !== undefined) headers[name] = normaliser.text(String(answer.headers[name]), step);
  return {
    status: answer.status,
    headers,
    body: document === undefined ? normaliser.text(answer.text, step) : chosen(normaliser.value(document, step), step),
  };
}

const decoded = (step: Step, text: string): Value => parse(text) ?? (step.yaml === true ? parsedYaml(text) : undefined);

async function untilHolds(
  step: Step,
  isDifferent: boolean,
  options: ObserveOptions,
  transport: ScenarioTransport,
): Promise<Answer> {
  const longest = (step.until?.within ?? options.timeoutSeconds) * 1000;
  const deadline = Date.now() + (isDifferent ? Math.min(longest, longestWaitForDifferentMs) : longest);
  for (let tries = 0; ; tries++) {
    try {
      const answer = await transport.send(step);
      if (Date.now() > deadline) return answer;
      if (step.until === undefined ? isDifferent || !asksToRetry(step, answer) : holds(step.until, answer))
        return answer;
    } catch (error) {
      // A server may cut connections while it changes what is waited for.
      if (step.until === undefined || Date.now() > deadline) throw error;
    }
    await delay(Math.min(longestPollMs, pollMs * Math.max(1, tries / 5)));
  }
}

/**
 * A server on the way did not reach the next one in time, which happens on a busy machine; nothing of the request was
 * delivered. Clients of Kubernetes retry then (client-go, rest/with_retry.go).
 */
const asksToRetry = ({ expect }: Step, { status, headers }: Answer): boolean =>
  status === 503 && headers['retry-after'] !== undefined && expect?.status !== 503;

function holds(until: Until, answer: Answer): boolean {
  return (
    (until.status === undefined || answer.status === until.status) &&
    (until.pointer === undefined || isDeepStrictEqual(at(parse(answer.text), until.pointer), until.equals)) &&
    [until.contains ?? []].flat().every((text) => answer.text.includes(text)) &&
    (until.warning === undefined || String(answer.headers['warning']).includes(until.warning)) &&
    [until.absent ?? []].flat().every((text) => !answer.text.includes(text))
  );
}

async function collected(step: Step, options: ObserveOptions, watch: OpenWatch, normaliser: Normaliser): Promise<Seen> {
  const deadline = Date.now() + options.timeoutSeconds * 1000;
  const wanted = (): Record<string, Value>[] => watch.events.filter((event) => event['type'] !== step.without);
  const complete = (): boolean =>
    watch.ended ||
    (step.untilType === undefined
      ? wanted().length >= (step.count ?? 1)
      : watch.events.some((event) => event['type'] === step.untilType));
  let latest = Date.now();
  for (let known = 0; !complete() && Date.now() < deadline; await delay(pollMs)) {
    if (watch.events.length !== known) latest = Date.now();
    known = watch.events.length;
    if (step.quiet !== undefined && Date.now() - latest > step.quiet) break;
  }
  if (step.keep !== true) watch.close();
  const events = wanted().map((event) => drop(normaliser.value(event, step), []));
  watch.events.length = 0;
  return { status: watch.status, events: drop(events, step.ignore) };
}

/** What of a body is compared. */
function chosen(document: Value, step: Step): Value {
  if (step.only !== undefined) return Object.fromEntries(step.only.map((pointer) => [pointer, at(document, pointer)]));
  drop(document, step.ignore);
  for (const pointer of step.unordered ?? []) {
    const list = at(document, pointer);
    if (Array.isArray(list)) list.sort((a: Value, b: Value) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return document;
}

/** Variables filled in; what is compared keeps `{{run}}`, as the normaliser writes it. */
function filled({ expect: _expect, ...raw }: Step, variables: Record<string, Value>): Step {
  const { only, ignore, unordered, ...request } = raw;
  const compared = {
    ...(only === undefined ? {} : { only }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(unordered === undefined ? {} : { unordered }),
  };
  return { ...fill(request, variables), ...fill(compared, { ...variables, run: '{{run}}' }) };
}

function fill<T>(value: T, variables: Record<string, Value>): T {
  const text = JSON.stringify(value).replace(/\{\{(\w+)\}\}/g, (all, name: string) =>
    Object.hasOwn(variables, name) ? JSON.stringify(String(variables[name])).slice(1, -1) : all,
  );
  return JSON.parse(text) as T;
}

function parsedYaml(text: string): Value {
  try {
    return parseYaml(text);
  } catch {
    return undefined;
  }
}
