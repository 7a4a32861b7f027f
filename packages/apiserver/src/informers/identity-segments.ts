import type { WatchCache } from '@multiplane/storage';

/**
 * The segments after the key prefix of a resource that is not compiled in: `customresources`, and the identities that have
 * objects now. Each costs one lookup in the cache, whatever the number of objects.
 */
export function* identitySegments(
  cache: Pick<WatchCache, 'listCurrent'>,
  resourcePrefix: string,
): IterableIterator<string> {
  let from: string | undefined;
  for (;;) {
    const [entry] = cache.listCurrent(resourcePrefix, from, 1);
    if (entry === undefined) return;
    const segment = entry.key.slice(resourcePrefix.length, entry.key.indexOf('/', resourcePrefix.length));
    yield segment;
    // `0` is the character after the slash that ends the segment.
    from = `${resourcePrefix}${segment}0`;
  }
}
