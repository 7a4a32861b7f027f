/**
 * Does a job for each item, so many at a time, in the order in which they come. The first failure is thrown when those
 * under way have ended; no other job begins after it.
 */
export async function severalAtOnce<T>(
  items: Iterable<T>,
  limit: number,
  job: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const work = async (first: IteratorResult<T>): Promise<void> => {
    for (let next = first; next.done !== true && failures.length === 0; next = iterator.next()) {
      try {
        await job(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const working: Promise<void>[] = [];
  while (working.length < limit) {
    const first = iterator.next();
    if (first.done === true) break;
    working.push(work(first));
  }
  await Promise.all(working);
  if (failures.length > 0) throw failures[0];
}
