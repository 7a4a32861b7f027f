import { isDeepStrictEqual } from 'node:util';
import { areAges } from '../../e2e/conformance/are-ages.ts';
import type { Value } from '../../e2e/conformance/json-pointer.ts';
import type { Seen } from '../../e2e/conformance/observe-scenario.ts';
import { PairedUids } from '../../e2e/conformance/paired-uids.ts';
import { comparableDocuments } from './comparable-documents.ts';
import { sortedManagers } from '../../e2e/conformance/sorted-managers.ts';

/** One place at which two answers differ; a side that has nothing there is undefined. */
export interface Difference {
  readonly at: string;
  readonly reference: Value;
  readonly subject: Value;
}

/** Whole documents have hundreds of deliberate differences. */
const most = 5000;

/** Where the answers to one step differ; `uids` are those of the scenario, whose steps are passed in their order. */
export function differencesOf(reference: Seen, subject: Seen, uids = new PairedUids()): Difference[] {
  const found: Difference[] = [];
  const [expected, seen] = [sortedManagers(plain(reference)), sortedManagers(plain(subject))].map(
    withoutArbitraryOrder,
  );
  const [left, right] = comparableDocuments(expected, seen);
  collect(left, uids.renamed(left, right), '', found);
  return found;
}

function collect(reference: Value, subject: Value, at: string, found: Difference[]): void {
  if (found.length >= most || isDeepStrictEqual(reference, subject) || areAges(at, reference, subject)) return;
  if (isContainer(reference) && isContainer(subject) && Array.isArray(reference) === Array.isArray(subject)) {
    for (const key of new Set([...Object.keys(reference), ...Object.keys(subject)]))
      collect(reference[key], subject[key], `${at}/${key}`, found);
    return;
  }
  found.push({ at, reference, subject });
}

const isContainer = (value: Value): value is Record<string, Value> => typeof value === 'object' && value !== null;
const plain = (value: unknown): Value => JSON.parse(JSON.stringify(value)) as Value;

/**
 * The order in which Go visits the keys of a map is arbitrary: errors of such keys (`spec.hard[pods]`), and those of the typed
 * objects of server-side apply, are compared in the order of their texts.
 */
function withoutArbitraryOrder(seen: Value): Value {
  const body = isContainer(seen) ? seen['body'] : undefined;
  if (!isContainer(body) || typeof body['message'] !== 'string') return seen;
  const lines = body['message'].split('\n');
  // An unknown field ends the walk over its map, so that which others are reported is arbitrary, too.
  const unknown = lines.find((line) => line.endsWith('field not declared in schema'));
  if (unknown !== undefined)
    return { ...(seen as object), body: { ...body, message: unknown.replace(/.* (?=\.)/, '').trim() } };
  if (lines[0]?.endsWith(': errors:') === true)
    return { ...(seen as object), body: { ...body, message: [lines[0], ...lines.slice(1).sort()].join('\n') } };
  const details = body['details'];
  const causes = isContainer(details) ? details['causes'] : undefined;
  if (!Array.isArray(causes)) return { ...(seen as object), body: { ...body, message: sortedErrors(body['message']) } };
  // Validation by a schema visits properties in the order of a Go map.
  const isBySchema = causes.some((cause: Value) =>
    / in body (must|should) |some validation rules were not checked|one and only one schema/.test(
      JSON.stringify(cause),
    ),
  );
  const keyed = causes
    .filter((cause: Value) => isBySchema || isOfKey(cause) || isRequired(cause))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (keyed.length < 2) return seen;
  const sorted = causes.map(
    (cause: Value) => (isBySchema || isOfKey(cause) || isRequired(cause) ? keyed.shift() : cause) as Value,
  );
  const message = `${body['message'].replace(/ is invalid: .*/s, ' is invalid: ')}${JSON.stringify(sorted)}`;
  return { ...(seen as object), body: { ...body, message, details: { ...(details as object), causes: sorted } } };
}

/** A list of errors in one text, as kcp prints those of an APIResourceSchema: `name is forbidden: [a b]`. */
function sortedErrors(message: string): string {
  const [, start, list] = /^(.* is forbidden: )\[(spec\..*)\]$/s.exec(message) ?? [];
  return list === undefined
    ? message
    : `${start}[${list
        .split(/ (?=spec\.)/)
        .sort()
        .join(' ')}]`;
}

const isRequired = (cause: Value): boolean =>
  isContainer(cause) && cause['reason'] === 'FieldValueRequired' && cause['message'] === 'Required value';
const isOfKey = (cause: Value): boolean => isContainer(cause) && /\[[^\]]*[^\d\]][^\]]*\]/.test(String(cause['field']));
