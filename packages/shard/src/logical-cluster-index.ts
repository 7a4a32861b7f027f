import {
  isLogicalClusterName,
  pathAnnotation,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, Lister } from '@multiplane/client';
import {
  logicalClusterObjectName,
  logicalClusters,
  workspaces,
  type LogicalCluster,
  type Workspace,
} from '@multiplane/controllers';

/** The first logical cluster of the root shard. */
export const rootCluster = 'root' as LogicalClusterName;
/** Home of what the shard itself keeps: bootstrap RBAC, leases. It has no LogicalCluster object (C1.1). */
export const systemAdminCluster = 'system:admin' as LogicalClusterName;

/** Finds logical clusters of this shard by name and by path, from the shard's cache. */
export class LogicalClusterIndex {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #workspaces: Lister<Workspace>;
  constructor(modules: { readonly informers: InformerFactory }) {
    this.#clusters = modules.informers.informer<LogicalCluster>(logicalClusters);
    this.#workspaces = modules.informers.informer<Workspace>(workspaces);
  }

  object(cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined {
    return this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
  }

  exists(cluster: LogicalClusterName): boolean {
    return cluster === systemAdminCluster || this.object(cluster) !== undefined;
  }

  /** Canonical path; the name itself for a cluster whose object has none. */
  pathOf(cluster: LogicalClusterName): string | undefined {
    const object = this.object(cluster);
    return object === undefined ? undefined : (object.metadata.annotations?.[pathAnnotation] ?? cluster);
  }

  /**
   * The cluster behind a path: its first segment is a cluster's name, every further one a Workspace in the cluster
   * before. Undefined where a segment is missing; a workspace being deleted is still found, so that it can be emptied.
   */
  resolve(path: string): LogicalClusterName | undefined {
    const [first, ...rest] = path.split(':') as [string, ...string[]];
    if (!isLogicalClusterName(first)) return undefined;
    let cluster: LogicalClusterName = first;
    for (const name of rest) {
      const next = this.#workspaces.get({ cluster, namespace: '', name })?.spec?.cluster;
      if (next === undefined || !isLogicalClusterName(next)) return undefined;
      cluster = next;
    }
    return cluster;
  }
}
