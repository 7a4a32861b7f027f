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
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true && failure === undefined; next = iterator.next()) {
      try {
        await job(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, work));
  if (failure !== undefined) throw (failure as { readonly error: unknown }).error;
}
