import type { Step } from '../../e2e/conformance/scenario.ts';
import { hasNumberText, jsonText, oddString, oddValue } from './odd-values.ts';
import type { Random } from './random.ts';

type Container = Record<string, unknown>;
interface Place {
  readonly container: Container;
  readonly key: string;
}

/** A body of a request: JSON where JavaScript can express it, else text. */
export interface RequestBody {
  readonly body?: unknown;
  readonly bodyText?: string;
}

/** Every member and element below a value, with the container that holds it. */
function places(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const container = value as Container;
  return Object.keys(container).flatMap((key) => [{ container, key }, ...places(container[key])]);
}

const mutations: readonly (readonly [number, (random: Random, place: Place) => void])[] = [
  [6, (random, { container, key }) => (container[key] = oddValue(random))],
  [4, (_, { container, key }) => remove(container, key)],
  [2, (_, { container, key }) => (container[key] = null)],
  [
    4,
    (random, { container, key }) => {
      if (typeof container[key] === 'string') container[key] = oddString(random);
      else container[key] = oddValue(random);
    },
  ],
  [
    3,
    (random, { container, key }) => {
      const value = container[key];
      if (Array.isArray(value)) value.push(value.length > 0 && random.chance(0.7) ? structuredClone(value[0]) : {});
      else if (typeof value === 'object' && value !== null)
        (value as Container)[random.pick(['unknownField', 'extra', 'Name', 'spec', oddString(random)])] =
          oddValue(random);
      else container[key] = [value];
    },
  ],
  [1, (_, { container, key }) => (container[key] = [container[key]])],
  [
    1,
    (_, { container, key }) => {
      if (Array.isArray(container)) return;
      const value = container[key];
      remove(container, key);
      container[key.charAt(0).toUpperCase() + key.slice(1)] = value;
    },
  ],
  [1, (_, { container, key }) => (container[key] = typeof container[key] === 'number' ? String(container[key]) : 7)],
];

function remove(container: Container, key: string): void {
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
}

/** A copy of a value with so many random changes. */
export function mutated<T>(random: Random, value: T, count: number): T {
  const copy = structuredClone(value);
  for (let n = 0; n < count; n++) {
    const all = places(copy);
    if (all.length === 0) break;
    random.weighted(mutations)(random, random.pick(all));
  }
  return copy;
}

/** How many mutations a body gets: a third of the bodies is valid, most of the rest has one error. */
export const mutationCount = (random: Random): number =>
  random.weighted([
    [4, 0],
    [5, 1],
    [2, 2],
    [1, 4],
  ]);

/** The value as a request's body; rarely with a duplicated member, cut off, or no JSON. */
export function requestBody(random: Random, value: unknown): RequestBody {
  const text = jsonText(value);
  return random.weighted<() => RequestBody>([
    [40, () => (hasNumberText(value) ? { bodyText: text } : { body: value })],
    [2, () => ({ bodyText: withDuplicate(random, text) })],
    [0.5, () => ({ bodyText: text.slice(0, random.int(text.length)) })],
    [
      0.5,
      () => ({ bodyText: random.pick(['', ' ', 'null', '[]', '{}', '""', '1', 'true', 'a: b', '{"a":1}x', '[{}]']) }),
    ],
  ])();
}

/** A valid object as a body in protobuf; rarely cut off. */
export const protobufBody = (random: Random, object: unknown): Partial<Step> => ({
  headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
  body: object,
  protobuf: random.chance(0.1) ? random.int(80) : true,
});

/** The text with a member twice, in the same object. */
function withDuplicate(random: Random, text: string): string {
  const members = [...text.matchAll(/"(\w+)":("[^"\\]*"|\d+|true|false|null)(?=[,}])/g)];
  if (members.length === 0) return text;
  const member = random.pick(members);
  const value = random.chance(0.5) ? member[2] : random.pick(['"x"', '1', 'null', '{}']);
  return `${text.slice(0, member.index)}"${member[1]}":${value},${text.slice(member.index)}`;
}
