import { homeClusterName } from '@multiplane/apimachinery';
import { ShardEntries, type WorkspaceEntry } from './shard-entries.ts';

/** Where a shard is reached. */
export interface ShardAddress {
  /** `spec.baseURL`. */
  readonly baseUrl: URL;
  /** `spec.virtualWorkspaceURL`, or the base URL. */
  readonly virtualWorkspaceUrl: URL;
  /** `spec.externalURL`, or the base URL: where clients reach its workspaces, which is a front-proxy. */
  readonly externalUrl: URL;
}

/** A shard as requests see it. */
export interface ShardRoute extends ShardAddress {
  readonly name: string;
}

/** Where a path leads. */
export type Route =
  | { readonly kind: 'cluster'; readonly shard: ShardRoute; readonly cluster: string; readonly type: string }
  /** Elsewhere; `rest` are the workspaces behind the mounted one. */
  | { readonly kind: 'mount'; readonly url: string; readonly rest: readonly string[] }
  /** A workspace on the way is there and out of order. */
  | { readonly kind: 'unavailable' };

interface ShardState {
  route: ShardRoute;
  readonly entries: ShardEntries;
  clustersKnown: boolean;
  workspacesKnown: boolean;
}

/**
 * Which shard a path of workspaces leads to (C11.2). Knows nothing of connections: others tell it what the shards have.
 *
 * State, per shard, and nothing else:
 * ```
 *   logical cluster → path of its type          (its LogicalCluster lives there)
 *   (logical cluster, workspace) → logical cluster, mount, out of order   (its Workspace lives there)
 * ```
 * Looking up `a:b:c` begins at the logical cluster *named* `a`, asks the shard that has it for `b` in it, and so on;
 * every cluster on the way must exist on some shard. So a deleted LogicalCluster is unroutable at once, whatever becomes
 * of the Workspace that led to it, and the edges of a cluster need no scrubbing: nobody can reach them.
 *
 * A logical cluster that shows up on a second shard belongs to the latest that told of it (migration); when that one
 * forgets it, to the other. Only such clusters have an entry in `#latest`.
 *
 * Cost: one entry of a {@link NameMap} per logical cluster and one per Workspace, some 150 bytes for both outside of the
 * heap (hack/bench/front-proxy.bench.ts); a lookup costs two probes per segment and shard.
 */
export class WorkspaceIndex {
  readonly #shards = new Map<string, ShardState>();
  readonly #latest = new Map<string, string>();

  /** A shard is there, or has moved. What it has stays known when only its address changed. */
  setShard(name: string, address: ShardAddress): void {
    const route = { name, ...address };
    const known = this.#shards.get(name);
    if (known !== undefined) known.route = route;
    else {
      const entries = new ShardEntries();
      this.#shards.set(name, { route, entries, clustersKnown: false, workspacesKnown: false });
    }
  }

  /** A shard is gone, with all it has. */
  removeShard(name: string): void {
    this.#shards.delete(name);
    for (const [cluster, shard] of this.#latest) if (shard === name) this.#latest.delete(cluster);
  }

  shard(name: string): ShardRoute | undefined {
    return this.#shards.get(name)?.route;
  }

  /** True for an address of this very control plane. */
  isOwnOrigin(origin: string): boolean {
    for (const { route } of this.#shards.values()) {
      const { baseUrl, externalUrl, virtualWorkspaceUrl } = route;
      if ([baseUrl, externalUrl, virtualWorkspaceUrl].some((url) => url.origin === origin)) return true;
    }
    return false;
  }

  get shardNames(): string[] {
    return [...this.#shards.keys()];
  }

  /** Shards whose state has not been told completely yet. What they have may exist although it is not found. */
  get unknownShards(): string[] {
    return [...this.#shards].filter(([, state]) => !isKnown(state)).map(([name]) => name);
  }

  clusterCount(shard: string): number {
    return this.#shards.get(shard)?.entries.clusterCount ?? 0;
  }

  replaceClusters(shard: string): void {
    this.#shards.get(shard)?.entries.replaceClusters();
  }

  clustersReplaced(shard: string): void {
    const state = this.#shards.get(shard);
    if (state === undefined) return;
    state.entries.clustersReplaced();
    state.clustersKnown = true;
  }

  putCluster(shard: string, cluster: string, type: string): void {
    const state = this.#shards.get(shard);
    if (state === undefined) return;
    state.entries.putCluster(cluster, type);
    for (const [other, { entries }] of this.#shards) {
      if (other === shard || !entries.hasCluster(cluster)) continue;
      this.#latest.set(cluster, shard);
      return;
    }
  }

  removeCluster(shard: string, cluster: string): void {
    this.#shards.get(shard)?.entries.removeCluster(cluster);
    if (this.#latest.get(cluster) === shard) this.#latest.delete(cluster);
  }

  replaceWorkspaces(shard: string): void {
    this.#shards.get(shard)?.entries.replaceWorkspaces();
  }

  workspacesReplaced(shard: string): void {
    const state = this.#shards.get(shard);
    if (state === undefined) return;
    state.entries.workspacesReplaced();
    state.workspacesKnown = true;
  }

  putWorkspace(shard: string, workspace: WorkspaceEntry): void {
    this.#shards.get(shard)?.entries.putWorkspace(workspace);
  }

  removeWorkspace(shard: string, parent: string, name: string): void {
    this.#shards.get(shard)?.entries.removeWorkspace(parent, name);
  }

  /** The shard that has a logical cluster of this name. */
  shardOf(cluster: string): ShardRoute | undefined {
    return this.#find(cluster)?.route;
  }

  /** Where a valid path leads; undefined when there is no such workspace, or nobody knows yet ({@link unknownShards}). */
  lookup(path: string): Route | undefined {
    const segments = path.split(':');
    if (segments[0] === 'user' && segments.length > 1) segments.splice(0, 2, homeClusterName(segments[1] as string));
    let cluster = segments[0] as string;
    let state = this.#find(cluster);
    if (state === undefined) return undefined;
    let isUnavailable = false;
    for (let i = 1; i < segments.length; i++) {
      const name = segments[i] as string;
      const { entries } = state;
      if (entries.isUnavailable(cluster, name)) isUnavailable = true;
      const child = entries.child(cluster, name);
      if (child === undefined) {
        const url = entries.mountUrl(cluster, name);
        if (url === undefined || url === '') return undefined;
        return isUnavailable ? { kind: 'unavailable' } : { kind: 'mount', url, rest: segments.slice(i + 1) };
      }
      const next = this.#find(child);
      if (next === undefined) return undefined;
      cluster = child;
      state = next;
    }
    if (isUnavailable) return { kind: 'unavailable' };
    return { kind: 'cluster', shard: state.route, cluster, type: state.entries.typeOf(cluster) };
  }

  #find(cluster: string): ShardState | undefined {
    if (this.#latest.size > 0) {
      const latest = this.#shards.get(this.#latest.get(cluster) ?? '');
      if (latest?.entries.hasCluster(cluster) === true) return latest;
    }
    for (const state of this.#shards.values()) if (state.entries.hasCluster(cluster)) return state;
    return undefined;
  }
}

const isKnown = ({ clustersKnown, workspacesKnown }: ShardState): boolean => clustersKnown && workspacesKnown;
