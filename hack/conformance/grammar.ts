import type { Random } from './random.ts';

export type Body = Record<string, unknown>;

/** A built-in resource that both servers serve, with a grammar of valid objects. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly hasStatus?: boolean;
  /** Everything but type and metadata. */
  readonly content: (random: Random) => Body;
}

const words = ['a', 'b', 'key', 'x-y', 'some.name', 'A_B', 'Team', 'long-word-with-dashes'];
export const word = (random: Random): string => random.pick(words);
export const text = (random: Random): string =>
  random.pick(['', '1', 'value', 'ü and 😀', 'two\nlines', 'true', '{{run}}']);
export const mapOf = <T>(random: Random, most: number, make: () => T): Record<string, T> =>
  Object.fromEntries(random.list(most, () => [word(random), make()]));

export function labelSelector(random: Random): Body {
  return random.optional(0.6, {
    matchLabels: () => mapOf(random, 2, () => random.pick(['', 'a', 'b', 'a b'])),
    matchExpressions: () =>
      random.list(2, () => ({
        key: random.pick(['a', 'example.com/b', 'a b', '']),
        operator: random.pick(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', '']),
        ...random.optional(0.6, { values: () => random.some(['a', 'b', 'c d', ''], 2) }),
      })),
  });
}
