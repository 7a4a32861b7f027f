import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { Informer, InformerFactory } from '@multiplane/client';

/**
 * Informers of a process that has just started: they deliver new events immediately, the initial list and the sync only
 * when `deliver` is called. Listers have all objects.
 */
export function delayInitialList(source: InformerFactory): {
  readonly informers: InformerFactory;
  readonly deliver: () => void;
} {
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
          added: (object, reference, isInInitialList = false) => {
            if (isInInitialList) held.push(() => handlers.added?.(object, reference, true));
            else handlers.added?.(object, reference);
          },
          synced: () => void held.push(() => handlers.synced?.()),
        }),
    };
  };
  const metadata: InformerFactory['metadata'] = {
    synced: source.metadata.synced,
    list: (scope) => source.metadata.list(scope),
    count: (scope) => source.metadata.count(scope),
    addHandlers: (handlers) =>
      source.metadata.addHandlers({ ...handlers, synced: () => void held.push(() => handlers.synced?.()) }),
  };
  return {
    informers: { informer, metadata },
    deliver: () => {
      for (const event of held.splice(0)) event();
    },
  };
}
