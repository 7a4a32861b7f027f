/** The PATH of the environment. */
export function searchPath(): string {
  return process.env['PATH'] ?? '';
}

/** How many generated cases a test plays, and the seed of the first; `make fuzz` sets both. */
export function generatedCases(defaults: { readonly runs: number; readonly seed: number }): typeof defaults {
  const { MULTIPLANE_FUZZ_RUNS: runs = defaults.runs, MULTIPLANE_FUZZ_SEED: seed = defaults.seed } = process.env;
  return { runs: Number(runs), seed: Number(seed) };
}

/**
 * How often a statistical test (kills, random operations, floods) repeats itself: `usual` times in a run of all tests,
 * more often by MULTIPLANE_TEST_EFFORT, which `hack/soak` sets.
 */
export function repetitions(usual: number): number {
  return Math.ceil(usual * Number(process.env['MULTIPLANE_TEST_EFFORT'] ?? 1));
}
