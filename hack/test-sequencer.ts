import { readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Of jest's `Test`, as far as it is read here. */
export interface SequencedTest {
  readonly path: string;
  readonly context: { readonly config: { readonly displayName?: { readonly name: string } | undefined } };
}

const root = join(import.meta.dirname, '..');
/** Seconds of suites, by project and path; recorded by hand from the output of a whole run. */
const seconds = JSON.parse(readFileSync(join(import.meta.dirname, 'test-durations.data.json'), 'utf8')) as Readonly<
  Record<string, number>
>;

/**
 * The order of test files, also in a fresh clone, which has no durations of earlier runs:
 *
 *   1. suites on sharded control planes, so that these end with the last of them and do not idle beside the others
 *   2. suites that take long, the longest first, so that none of them runs alone at the end
 *   3. larger files
 *
 * It has the part of `@jest/test-sequencer` that a run without `--shard` and `--onlyFailures` needs.
 */
// oxlint-disable-next-line import/no-default-export -- jest looks for it
export default class TestSequencer {
  sort<T extends SequencedTest>(tests: Iterable<T>): T[] {
    const ranked = Array.from(tests, (test) => ({ test, rank: rankOf(test) }));
    ranked.sort(({ rank: a }, { rank: b }) => b.isSharded - a.isSharded || b.seconds - a.seconds || b.bytes - a.bytes);
    return ranked.map(({ test }) => test);
  }

  /** jest calls it after a run. */
  cacheResults(): void {}
}

function rankOf({ path, context }: SequencedTest): { isSharded: number; seconds: number; bytes: number } {
  const project = context.config.displayName?.name;
  return {
    isSharded: project === 'sharded' ? 1 : 0,
    seconds: seconds[`${project} ${relative(root, path)}`] ?? 0,
    bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
  };
}
