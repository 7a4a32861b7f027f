import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from './lister.ts';

/** Work queue key: `<cluster>|<namespace>/<name>`. The namespace of a cluster-scoped object is empty. */
export function keyOf({ cluster, namespace, name }: ObjectReference): string {
  return `${cluster}|${namespace}/${name}`;
}

/** The inverse of {@link keyOf}. */
export function referenceOf(key: string): ObjectReference {
  const bar = key.indexOf('|');
  const slash = key.indexOf('/', bar);
  return {
    cluster: key.slice(0, bar) as LogicalClusterName,
    namespace: key.slice(bar + 1, slash),
    name: key.slice(slash + 1),
  };
}
