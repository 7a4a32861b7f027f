import { statusErrors } from '@multiplane/apimachinery';
import type { EmbeddingHost } from '@multiplane/apiserver';
import type { OpenSource } from './cached-sources.ts';

/** Cached objects straight from the watch cache of the cache server in the same process: no further copy. */
export function embeddedSources(host: Pick<EmbeddingHost, 'cachedObjects'>): OpenSource {
  return () => {
    const cache = host.cachedObjects?.();
    if (cache === undefined) throw statusErrors.serviceUnavailable('there is no cache server in this process');
    return { cache, release: () => {} };
  };
}
