import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';

/** Key of a work queue: `<cluster>|<namespace>/<name>`, as kcp writes them (C5.0). */
export function keyOf({ cluster, namespace, name }: ObjectReference): string {
  return `${cluster}|${namespace}/${name}`;
}

/** The reference behind a key that {@link keyOf} made. */
export function referenceOf(key: string): ObjectReference {
  const bar = key.indexOf('|');
  const slash = key.indexOf('/', bar);
  return {
    cluster: key.slice(0, bar) as LogicalClusterName,
    namespace: key.slice(bar + 1, slash),
    name: key.slice(slash + 1),
  };
}
