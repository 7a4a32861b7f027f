/**
 * The iterations of the event loop while `work` runs, and its result. Each read of the clock takes a millisecond longer than it
 * does, so that work in time slices yields by the number of its passes, on fast machines, too.
 */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  const now = performance.now.bind(performance);
  let reads = 0;
  performance.now = () => now() + reads++;
  try {
    const result = await work();
    return { turns, result };
  } finally {
    Reflect.deleteProperty(performance, 'now');
    clearImmediate(next);
  }
}
