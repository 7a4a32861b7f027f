import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface ShakerOptions {
  readonly isEndToEnd: boolean;
  readonly runs: number;
  readonly seed: number;
  /** Factor of the delays in the run with stretched timers; 0: no such run. */
  readonly stretch: number;
  readonly burners: number;
  readonly nice: number;
  /** Regular expressions of jest; empty: all. */
  readonly patterns: readonly string[];
}

/** Throws a text for the user. The help is the comment of `hack/shake`. */
export function parseShakerOptions(args: readonly string[]): ShakerOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: Object.fromEntries(
      ['runs', 'seed', 'stretch', 'burners', 'nice'].map((name) => [name, { type: 'string' as const }]),
    ),
  });
  const isEndToEnd = positionals[0] === 'e2e';
  const number = (name: string, value: number, max = 1_000_000_000): number => {
    const given = values[name];
    if (given === undefined) return value;
    const parsed = Number(given);
    if (given === '' || !(parsed >= 0 && parsed <= max))
      throw new Error(`--${name}: ${given} is not a number from 0 to ${max}`);
    return parsed;
  };
  const runs = number('runs', isEndToEnd ? 5 : 20, 10_000);
  return {
    isEndToEnd,
    runs: Math.floor(runs),
    // jest takes seeds of 32 bits.
    seed: Math.floor(number('seed', randomInt(2 ** 30))),
    stretch: number('stretch', 3, 100),
    burners: Math.floor(number('burners', availableParallelism(), 1_000)),
    nice: Math.floor(number('nice', 5, 19)),
    patterns: positionals.slice(isEndToEnd ? 1 : 0),
  };
}
