import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '../../packages/apimachinery/src/index.ts';
import type { Step } from '../../e2e/conformance/scenario.ts';
import type { Difference } from './differences.ts';

const list = join(import.meta.dirname, '..', '..', 'e2e', 'conformance', 'excused-differences.yaml');

/** An entry of the list; every pattern that it has must match, and `reason` says why it is right. */
interface Entry {
  readonly request?: RegExp;
  /** Over the JSON of the body that was sent. */
  readonly body?: RegExp;
  readonly at?: RegExp;
  readonly reference?: RegExp;
  readonly subject?: RegExp;
  /** Its first group must be the same text on both sides. */
  readonly same?: RegExp;
  /** A place that matches excuses these places of the same answer: they follow from it. */
  readonly also?: RegExp;
  /** A place that matches excuses the whole answer: all others follow from it. */
  readonly whole: boolean;
  /** The servers hold different objects from then on, so the rest of the scenario is not compared. */
  readonly ends: boolean;
  readonly reason: string;
}

/** A difference that an entry matched; `entry` is its place in the list, from 0. */
export interface Excuse {
  readonly entry: number;
  readonly request: Step;
  readonly difference: Difference;
}

const patterns = ['request', 'body', 'at', 'reference', 'subject', 'same', 'also'] as const;

/** The differences that are deliberate: e2e/conformance/excused-differences.yaml. */
export class DeliberateDifferences {
  readonly #entries: readonly Entry[];
  constructor(text = readFileSync(list, 'utf8')) {
    this.#entries = ((parseYaml(text) ?? []) as Record<string, string>[]).map(entryOf);
  }

  /** What of the differences of one answer is not deliberate. */
  unexplained(request: Step, differences: readonly Difference[]): Difference[] {
    const excusing = differences.map((difference) => this.#entriesFor(request, difference));
    const matching = excusing.flat();
    if (matching.some(({ whole, ends }) => whole || ends)) return [];
    return differences.filter(
      ({ at }, index) => excusing[index]?.length === 0 && !matching.some(({ also }) => also?.test(at) === true),
    );
  }

  /** Whether the answers differ on purpose in a way that makes later answers differ. */
  ends(request: Step, differences: readonly Difference[]): boolean {
    return differences.some((difference) => this.#entriesFor(request, difference).some(({ ends }) => ends));
  }

  /** Which entries match which differences of one answer: an entry that matches more than it is meant for is seen here. */
  excuses(request: Step, differences: readonly Difference[]): Excuse[] {
    return differences.flatMap((difference) =>
      this.#entriesFor(request, difference).map((entry) => ({
        entry: this.#entries.indexOf(entry),
        request,
        difference,
      })),
    );
  }

  /** The reasons in the order of the list. */
  get reasons(): readonly string[] {
    return this.#entries.map(({ reason }) => reason);
  }

  #entriesFor(request: Step, difference: Difference): readonly Entry[] {
    const line = `${request.method ?? 'GET'} ${request.path}`;
    return this.#entries.filter(
      (entry) =>
        (entry.request?.test(line) ?? true) &&
        (entry.body?.test(request.bodyText ?? JSON.stringify(request.body) ?? '') ?? true) &&
        (entry.at?.test(difference.at) ?? true) &&
        (entry.reference?.test(textOf(difference.reference)) ?? true) &&
        (entry.subject?.test(textOf(difference.subject)) ?? true) &&
        hasSame(entry.same, textOf(difference.reference), textOf(difference.subject)),
    );
  }
}

function hasSame(pattern: RegExp | undefined, reference: string, subject: string): boolean {
  if (pattern === undefined) return true;
  const found = pattern.exec(reference)?.[1];
  return found !== undefined && found === pattern.exec(subject)?.[1];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function entryOf(fields: Record<string, string>, index: number): Entry {
  const unknown = Object.keys(fields).filter(
    (key) => !['reason', 'whole', 'ends'].includes(key) && !patterns.includes(key as 'at'),
  );
  if (fields['reason'] === undefined || unknown.length > 0 || Object.keys(fields).length < 2)
    throw new Error(`entry ${index} of the deliberate differences needs a reason and patterns: ${patterns.join(', ')}`);
  return {
    whole: String(fields['whole']) === 'true',
    ends: String(fields['ends']) === 'true',
    reason: fields['reason'],
    ...Object.fromEntries(
      patterns.flatMap((name) => (fields[name] === undefined ? [] : [[name, new RegExp(fields[name])]])),
    ),
  };
}
