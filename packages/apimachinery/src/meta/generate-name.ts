import { randomInt } from 'node:crypto';

/** No vowels, so that no words come about; no 0, 1, 3, which look like letters. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxNameLength = 63;

/** How often the registry tries before it gives up on a unique name. */
export const maxGeneratedNameAttempts = 8;

/** A random suffix. `random(n)` gives an integer from 0 to n-1. */
export function randomSuffix(length: number, random: (below: number) => number = randomInt): string {
  let suffix = '';
  while (suffix.length < length) suffix += alphabet[random(alphabet.length)] as string;
  return suffix;
}

/** A name made from `metadata.generateName`: its first 58 characters and 5 random ones. */
export function generateName(base: string, random?: (below: number) => number): string {
  return base.slice(0, maxNameLength - suffixLength) + randomSuffix(suffixLength, random);
}
