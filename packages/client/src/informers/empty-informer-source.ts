import type { InformerSource } from '../lister.ts';

/** Informers without objects: the cache server's, in an installation of one shard. */
export const emptyInformerSource: InformerSource = {
  informer: () => ({
    synced: Promise.resolve(),
    get: () => undefined,
    list: () => [],
    addHandlers: (handlers) => {
      queueMicrotask(() => handlers.synced?.());
      return () => {};
    },
  }),
};
