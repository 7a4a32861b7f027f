import type { SequencedTest } from '../test-sequencer.ts';
import { shuffled } from './shuffled.ts';

/**
 * Random order of test files, the same for the same seed of the run. Suites on sharded control planes stay before the others:
 * they share one, which is kept until the last of them has ended.
 */
// oxlint-disable-next-line import/no-default-export -- jest looks for it
export default class ShufflingSequencer {
  readonly #seed: number;

  constructor({ globalConfig }: { readonly globalConfig: { readonly seed: number } }) {
    this.#seed = globalConfig.seed;
  }

  sort<T extends SequencedTest>(tests: Iterable<T>): T[] {
    const { sharded = [], others = [] } = Object.groupBy(tests, ({ context }) =>
      context.config.displayName?.name === 'sharded' ? 'sharded' : 'others',
    );
    return [sharded, others].flatMap((group) => shuffled(group.sort(byPath), this.#seed));
  }

  /** jest calls it after a run. */
  cacheResults(): void {}
}

const byPath = (a: SequencedTest, b: SequencedTest): number => (a.path < b.path ? -1 : 1);
