import {
  homeClusterName,
  isLogicalClusterName,
  pathAnnotation,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, Lister } from '@multiplane/client';
import {
  logicalClusterObjectName,
  logicalClusters,
  shardAnnotation,
  workspaces,
  type LogicalCluster,
  type Workspace,
} from '@multiplane/controllers';
import { MountedPath, pathUnavailable, pathOnOtherShard, type PathProblem } from '@multiplane/generic-server';

/** The first logical cluster of the root shard. */
export const rootCluster = 'root' as LogicalClusterName;
/** Holds the shard's own objects (bootstrap RBAC, leases). It has no LogicalCluster object. */
export const systemAdminCluster = 'system:admin' as LogicalClusterName;

/** Finds logical clusters of this shard by name and by path (kcp `pkg/index/index.go`). */
export class LogicalClusterIndex {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #workspaces: Lister<Workspace>;
  readonly #shardName: string;
  readonly #mounts: boolean;
  constructor(
    options: { readonly shardName: string; /** Feature gate WorkspaceMounts. */ readonly mounts?: boolean },
    modules: { readonly informers: InformerFactory },
  ) {
    this.#shardName = options.shardName;
    this.#mounts = options.mounts ?? false;
    this.#clusters = modules.informers.informer<LogicalCluster>(logicalClusters);
    this.#workspaces = modules.informers.informer<Workspace>(workspaces);
  }

  object(cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined {
    return this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
  }

  exists(cluster: LogicalClusterName): boolean {
    return cluster === systemAdminCluster || this.object(cluster) !== undefined;
  }

  /** The canonical path; the name of a cluster without one; undefined for an unknown cluster. */
  pathOf(cluster: LogicalClusterName): string | undefined {
    const object = this.object(cluster);
    return object === undefined ? undefined : (object.metadata.annotations?.[pathAnnotation] ?? cluster);
  }

  /** {@link resolve} for callers that only need the name; undefined if the path has no cluster on this shard. */
  find(path: string): LogicalClusterName | undefined {
    const found = this.resolve(path);
    return typeof found === 'string' ? found : undefined;
  }

  /**
   * Resolves a path: the first segment is the name of a logical cluster, each further one a Workspace in the cluster before.
   * Returns undefined if a Workspace or its logical cluster does not exist. A Workspace that is being deleted still resolves,
   * so that its content can be deleted. Resolution ends at a mounted workspace; the target resolves the rest.
   */
  resolve(path: string): LogicalClusterName | PathProblem | MountedPath | undefined {
    const [first, ...rest] = withoutHome(path).split(':') as [string, ...string[]];
    if (!isLogicalClusterName(first)) return undefined;
    let cluster: LogicalClusterName = first;
    // The name of a home workspace is computed, so it says nothing of whether there is one.
    if (rest.length === 0 && !this.exists(cluster)) return undefined;
    let isUnavailable = false;
    for (const [i, name] of rest.entries()) {
      const workspace = this.#workspaces.get({ cluster, namespace: '', name });
      const next = workspace?.spec?.cluster;
      isUnavailable ||= workspace?.status?.phase === 'Unavailable';
      if (this.#mounts && next === undefined && workspace?.spec?.mount !== undefined) {
        const url = workspace.spec.URL ?? '';
        if (url === '') return undefined;
        return isUnavailable ? pathUnavailable : new MountedPath(url, rest.slice(i + 1));
      }
      if (workspace === undefined || next === undefined || !isLogicalClusterName(next)) return undefined;
      if (this.object(next) === undefined) {
        const shard = workspace.metadata.annotations?.[shardAnnotation];
        return shard === undefined || shard === this.#shardName ? undefined : pathOnOtherShard;
      }
      cluster = next;
    }
    return isUnavailable ? pathUnavailable : cluster;
  }
}

/** `user:<name>[:rest]` begins at the home workspace of the user. */
function withoutHome(path: string): string {
  const [first, name, ...rest] = path.split(':');
  return first !== 'user' || name === undefined ? path : [homeClusterName(name), ...rest].join(':');
}
