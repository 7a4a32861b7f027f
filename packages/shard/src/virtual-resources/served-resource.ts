import { isStatusError, type GroupVersionResource, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import type { ServedResourceSpec } from '@multiplane/controllers';

/** Undefined also while the definition of a bound resource cannot be read. */
export function servedResource(
  resolver: Pick<ResourceResolver, 'resolve'>,
  cluster: LogicalClusterName,
  { group, version, resource }: GroupVersionResource,
): ServedResourceSpec | undefined {
  try {
    const definition = resolver.resolve(cluster, group, version, resource);
    if (definition === undefined) return undefined;
    return { kind: definition.kind, namespaced: definition.namespaced, isVirtual: definition.virtual !== undefined };
  } catch (error) {
    if (isStatusError(error)) return undefined;
    throw error;
  }
}
