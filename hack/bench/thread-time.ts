/** Milliseconds that this thread has worked: the machine may do other things meanwhile. */
export function threadTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** How long something took, and the longest turn of the event loop meanwhile; milliseconds of this thread's work. */
export interface Watched<T> {
  readonly result: T;
  readonly took: number;
  readonly longest: number;
}

export async function watchTurns<T>(work: () => Promise<T>): Promise<Watched<T>> {
  let longest = 0;
  let last = threadTime();
  const tick = (): void => {
    const now = threadTime();
    longest = Math.max(longest, now - last);
    last = now;
    timer = setImmediate(tick);
  };
  let timer = setImmediate(tick);
  const begin = threadTime();
  try {
    const result = await work();
    const took = threadTime() - begin;
    // The turn that the work ends in counts too.
    await new Promise((resolve) => setImmediate(resolve));
    return { result, took, longest };
  } finally {
    clearImmediate(timer);
  }
}
