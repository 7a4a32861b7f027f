import {
  homeClusterName,
  isLogicalClusterName,
  pathAnnotation,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { MountedPath, pathIsUnavailable, pathLeadsElsewhere, type PathProblem } from '@multiplane/apiserver';
import type { InformerFactory, Lister } from '@multiplane/client';
import {
  logicalClusterObjectName,
  logicalClusters,
  shardAnnotation,
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
  readonly #shardName: string;
  readonly #mounts: boolean;
  constructor(
    options: { readonly shardName: string; /** Mounted workspaces lead somewhere. */ readonly mounts?: boolean },
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

  /** Canonical path; the name itself for a cluster whose object has none. */
  pathOf(cluster: LogicalClusterName): string | undefined {
    const object = this.object(cluster);
    return object === undefined ? undefined : (object.metadata.annotations?.[pathAnnotation] ?? cluster);
  }

  /** The same for what only asks for the name; undefined for every path that leads to none on this shard. */
  find(path: string): LogicalClusterName | undefined {
    const found = this.resolve(path);
    return typeof found === 'string' ? found : undefined;
  }

  /**
   * The cluster behind a path: its first segment is a cluster's name, every further one a Workspace in the cluster
   * before (C11.7). Undefined where a segment is missing, or has lost its logical cluster; a workspace being deleted is
   * still found, so that it can be emptied. A mounted workspace is the end of the way: what is behind it is not here.
   */
  resolve(path: string): LogicalClusterName | PathProblem | MountedPath | undefined {
    const [first, ...rest] = withoutHome(path).split(':') as [string, ...string[]];
    if (!isLogicalClusterName(first)) return undefined;
    let cluster: LogicalClusterName = first;
    let isUnavailable = false;
    for (const [i, name] of rest.entries()) {
      const workspace = this.#workspaces.get({ cluster, namespace: '', name });
      const next = workspace?.spec?.cluster;
      isUnavailable ||= workspace?.status?.phase === 'Unavailable';
      if (this.#mounts && next === undefined && workspace?.spec?.mount !== undefined) {
        const url = workspace.spec.URL ?? '';
        if (url === '') return undefined;
        return isUnavailable ? pathIsUnavailable : new MountedPath(url, rest.slice(i + 1));
      }
      if (workspace === undefined || next === undefined || !isLogicalClusterName(next)) return undefined;
      if (this.object(next) === undefined) {
        const shard = workspace.metadata.annotations?.[shardAnnotation];
        return shard === undefined || shard === this.#shardName ? undefined : pathLeadsElsewhere;
      }
      cluster = next;
    }
    return isUnavailable ? pathIsUnavailable : cluster;
  }
}

/** `user:<name>[:rest]` begins at the home of that user (C1.4). */
function withoutHome(path: string): string {
  const [first, name, ...rest] = path.split(':');
  return first !== 'user' || name === undefined ? path : [homeClusterName(name), ...rest].join(':');
}
