/** One way of doing the work. `run` does it `iterations` times. */
export interface Contender {
  readonly name: string;
  readonly run: (iterations: number) => void | Promise<void>;
}

export interface Comparison {
  readonly title: string;
  /** What one iteration is, for the figures: `write`, `line`, `request`. */
  readonly unit: string;
  /** What the others are measured against, in the same run: machines differ, ratios hold. */
  readonly baseline: Contender;
  readonly contenders: readonly Contender[];
  readonly rounds?: number | undefined;
}

const millisecondsPerRound = 200;

/**
 * Measures contenders in turn, round by round, so that a machine that speeds up or slows down does so for all of them;
 * prints the median of each and its ratio to the baseline. Resolves with the milliseconds per iteration, by name.
 */
export async function compare({
  title,
  unit,
  baseline,
  contenders,
  rounds = 7,
}: Comparison): Promise<ReadonlyMap<string, number>> {
  const all = [baseline, ...contenders];
  const iterations = new Map<Contender, number>();
  for (const contender of all) iterations.set(contender, await calibrate(contender));
  const perIteration = new Map<Contender, number[]>(all.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contender of all) {
      const count = iterations.get(contender) ?? 1;
      perIteration.get(contender)?.push((await time(contender, count)) / count);
    }
  }
  const base = median(perIteration.get(baseline) ?? []);
  const medians = new Map<string, number>();
  console.log(`\n${title}`);
  for (const contender of all) {
    const own = median(perIteration.get(contender) ?? []);
    const figure = `${(own * 1000).toPrecision(3)} µs/${unit}`.padStart(20);
    const ratio = contender === baseline ? 'baseline' : `${(own / base).toFixed(2)} x`;
    console.log(`  ${contender.name.padEnd(40)}${figure}${ratio.padStart(12)}`);
    medians.set(contender.name, own);
  }
  return medians;
}

/** How many iterations fill a round; warms up on the way. */
async function calibrate(contender: Contender): Promise<number> {
  for (let count = 1; ; count *= 2) {
    const spent = await time(contender, count);
    if (spent > millisecondsPerRound / 4) return Math.max(1, Math.round((count * millisecondsPerRound) / spent));
  }
}

async function time(contender: Contender, iterations: number): Promise<number> {
  const began = performance.now();
  await contender.run(iterations);
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
