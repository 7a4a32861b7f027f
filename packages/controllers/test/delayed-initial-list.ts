import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { Informer, InformerFactory } from '@multiplane/client';

/**
 * Informers of a process that has just started: they tell what is new, and of what was there before only when `tell` is
 * called. Listers know all of it.
 */
export function toldLate(source: InformerFactory): { readonly informers: InformerFactory; readonly tell: () => void } {
  const held: (() => void)[] = [];
  const informer = <T extends KubeObject>(resource: GroupVersionResource): Informer<T> => {
    const inner = source.informer<T>(resource);
    return {
      synced: inner.synced,
      get: (reference) => inner.get(reference),
      list: (scope) => inner.list(scope),
      addHandlers: (handlers) =>
        inner.addHandlers({
          ...handlers,
          added: (object, reference, wasThere = false) => {
            if (wasThere) held.push(() => handlers.added?.(object, reference, true));
            else handlers.added?.(object, reference);
          },
          synced: () => void held.push(() => handlers.synced?.()),
        }),
    };
  };
  const metadata: InformerFactory['metadata'] = {
    synced: source.metadata.synced,
    list: (scope) => source.metadata.list(scope),
    addHandlers: (handlers) =>
      source.metadata.addHandlers({ ...handlers, synced: () => void held.push(() => handlers.synced?.()) }),
  };
  return {
    informers: { informer, metadata },
    tell: () => {
      for (const one of held.splice(0)) one();
    },
  };
}
