/** The PATH of the environment. */
export function searchPath(): string {
  return process.env['PATH'] ?? '';
}

/** How many generated cases a test plays, and the seed of the first; `make fuzz` sets both. */
export function generatedCases(defaults: { readonly runs: number; readonly seed: number }): typeof defaults {
  const { MULTIPLANE_FUZZ_RUNS: runs = defaults.runs, MULTIPLANE_FUZZ_SEED: seed = defaults.seed } = process.env;
  return { runs: Number(runs), seed: Number(seed) };
}
