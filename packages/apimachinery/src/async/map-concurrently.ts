import pMap from 'p-map';

/**
 * Calls `mapper` for every item, in order, with at most `concurrency` calls in flight. After the first failure no further
 * call starts, and that failure is thrown once the calls in flight have settled: unlike with p-map itself, no write of a
 * failed operation is in flight after it returned, so a retry never races with it.
 */
export async function mapConcurrently<T>(
  items: Iterable<T>,
  concurrency: number,
  mapper: (item: T) => Promise<unknown>,
): Promise<void> {
  const inFlight = new Set<Promise<unknown>>();
  const track = async (item: T): Promise<void> => {
    const call = mapper(item);
    inFlight.add(call);
    try {
      await call;
    } finally {
      inFlight.delete(call);
    }
  };
  try {
    await pMap(items, track, { concurrency });
  } catch (error) {
    await Promise.allSettled(inFlight);
    throw error;
  }
}
