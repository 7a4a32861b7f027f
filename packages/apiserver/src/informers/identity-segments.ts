import type { WatchCache } from '@multiplane/storage';

/**
 * The segments that follow the prefix of a resource that is not compiled in: `customresources` and the identities that
 * have objects of it now (C4.1). Each costs one look into the cache, whatever lies below.
 */
export function* identitySegments(
  cache: Pick<WatchCache, 'present'>,
  resourcePrefix: string,
): IterableIterator<string> {
  let from: string | undefined;
  for (;;) {
    const [entry] = cache.present(resourcePrefix, from, 1);
    if (entry === undefined) return;
    const segment = entry.key.slice(resourcePrefix.length, entry.key.indexOf('/', resourcePrefix.length));
    yield segment;
    // The next character after the slash that ends a segment.
    from = `${resourcePrefix}${segment}0`;
  }
}
