// The order of test files in every run, also in a fresh clone, which has no durations of earlier runs:
//   1. suites on sharded control planes, so that these end with the last of them and do not idle beside the others
//   2. suites that are known to take long, so that none of them runs alone at the end
//   3. larger files first
import { readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const seconds = JSON.parse(readFileSync(join(import.meta.dirname, 'test-durations.data.json'), 'utf8'));

/** Of jest's `Test`, as far as it is read here. */
const rankOf = ({ path, context }) => {
  const topology = context.config.displayName?.name;
  const name = relative(root, path);
  return {
    isSharded: topology === 'sharded' ? 1 : 0,
    seconds: seconds[`${topology} ${name}`] ?? 0,
    bytes: statSync(path).size,
  };
};

/** The part of `@jest/test-sequencer` that a run without `--shard` and `--onlyFailures` needs. */
export default class TestSequencer {
  sort(tests) {
    const ranked = Array.from(tests, (test) => ({ test, rank: rankOf(test) }));
    ranked.sort(({ rank: a }, { rank: b }) => b.isSharded - a.isSharded || b.seconds - a.seconds || b.bytes - a.bytes);
    return ranked.map(({ test }) => test);
  }

  // jest calls this after a run; the durations in test-durations.data.json are recorded by hand.
  cacheResults() {}
}
