import { homeClusterName } from '@multiplane/apimachinery';
import { ShardEntries, type WorkspaceEntry } from './shard-entries.ts';

/** The URLs of a shard. */
export interface ShardAddress {
  /** `spec.baseURL`. */
  readonly baseUrl: URL;
  /** `spec.virtualWorkspaceURL`, or the base URL. */
  readonly virtualWorkspaceUrl: URL;
  /** `spec.externalURL`, or the base URL: the URL of workspaces for clients, normally of a front-proxy. */
  readonly externalUrl: URL;
}

/** A shard with its name. */
export interface ShardRoute extends ShardAddress {
  readonly name: string;
}

/** The target of a workspace path. */
export type Route =
  | { readonly kind: 'cluster'; readonly shard: ShardRoute; readonly cluster: string; readonly type: string }
  /** A mounted workspace; `rest` are the segments after it. */
  | { readonly kind: 'mount'; readonly url: string; readonly rest: readonly string[] }
  /** A workspace on the path is unavailable. */
  | { readonly kind: 'unavailable' };

/** The first object on a path that is not in the index. */
export interface NextStep {
  /** The logical cluster that is missing, or in which the Workspace `name` is. */
  readonly cluster: string;
  readonly name: string | undefined;
  /** Where the Workspace is stored; undefined for a logical cluster, which may be on any shard. */
  readonly shard: string | undefined;
}

interface ShardState {
  route: ShardRoute;
  readonly entries: ShardEntries;
  clustersSynced: boolean;
  workspacesSynced: boolean;
}

/**
 * Maps workspace paths to shards. `ShardReflector`s supply the objects of the shards.
 *
 * State per shard:
 * ```
 *   logical cluster → path of its type            (the shard stores its LogicalCluster)
 *   (logical cluster, workspace) → logical cluster, mount, unavailable   (the shard stores its Workspace)
 * ```
 * The lookup of `a:b:c` starts at the logical cluster *named* `a`, finds the child of `b` on its shard, and so on; every
 * logical cluster on the path must exist on a shard. So a deleted LogicalCluster is unroutable immediately, also while its
 * Workspace exists, and the Workspaces inside a deleted logical cluster need no cleanup because they are unreachable.
 *
 * A logical cluster that appears on a second shard (migration) belongs to the shard that reported it last, and to the other
 * one after a removal there. Only such logical clusters have an entry in `#latest`.
 *
 * Cost: one entry of a {@link CompactStringMap} per logical cluster and one per Workspace, some 150 bytes for both outside of the
 * heap (hack/bench/front-proxy.bench.ts); a lookup costs two probes per segment and shard.
 */
export class WorkspaceIndex {
  readonly #shards = new Map<string, ShardState>();
  readonly #latest = new Map<string, string>();
  #changed: PromiseWithResolvers<void> | undefined;

  /** Adds a shard or changes its address; its objects are kept. */
  setShard(name: string, address: ShardAddress): void {
    const route = { name, ...address };
    const known = this.#shards.get(name);
    if (known !== undefined) known.route = route;
    else {
      const entries = new ShardEntries();
      this.#shards.set(name, { route, entries, clustersSynced: false, workspacesSynced: false });
    }
  }

  /** Removes a shard with its objects. */
  removeShard(name: string): void {
    this.#shards.delete(name);
    for (const [cluster, shard] of this.#latest) if (shard === name) this.#latest.delete(cluster);
  }

  shard(name: string): ShardRoute | undefined {
    return this.#shards.get(name)?.route;
  }

  /** True for the origin of a URL of this control plane. */
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

  /** Shards without a complete list. Workspaces of such a shard may exist although they are not found. */
  get unsyncedShards(): string[] {
    return [...this.#shards].filter(([, state]) => !isSynced(state)).map(([name]) => name);
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
    state.clustersSynced = true;
    this.#notifyChanged();
  }

  putCluster(shard: string, cluster: string, type: string): void {
    const state = this.#shards.get(shard);
    if (state === undefined) return;
    state.entries.putCluster(cluster, type);
    this.#notifyChanged();
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
    state.workspacesSynced = true;
    this.#notifyChanged();
  }

  putWorkspace(shard: string, workspace: WorkspaceEntry): void {
    this.#shards.get(shard)?.entries.putWorkspace(workspace);
    this.#notifyChanged();
  }

  removeWorkspace(shard: string, parent: string, name: string): void {
    this.#shards.get(shard)?.entries.removeWorkspace(parent, name);
  }

  /** The shard of a logical cluster. */
  shardOf(cluster: string): ShardRoute | undefined {
    return this.#find(cluster)?.route;
  }

  /** The target of a valid path; undefined if there is no such workspace, or it is not indexed yet ({@link unsyncedShards}). */
  lookup(path: string): Route | undefined {
    const segments = withoutHome(path);
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

  /** What a valid path lacks in the index; undefined if {@link lookup} finds it. */
  nextStep(path: string): NextStep | undefined {
    const [first, ...names] = withoutHome(path);
    let cluster = first as string;
    for (let i = 0; ; i++) {
      const state = this.#find(cluster);
      if (state === undefined) return { cluster, name: undefined, shard: undefined };
      const name = names[i];
      if (name === undefined) return undefined;
      const child = state.entries.child(cluster, name);
      if (child === undefined) {
        const isMount = (state.entries.mountUrl(cluster, name) ?? '') !== '';
        return isMount ? undefined : { cluster, name, shard: state.route.name };
      }
      cluster = child;
    }
  }

  /** Resolves when an object was added or changed, or a list replaced. */
  changed(): Promise<void> {
    return (this.#changed ??= Promise.withResolvers<void>()).promise;
  }

  #notifyChanged(): void {
    this.#changed?.resolve();
    this.#changed = undefined;
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

/** Segments of a path; the first is the name of a logical cluster. */
function withoutHome(path: string): string[] {
  const segments = path.split(':');
  if (segments[0] === 'user' && segments.length > 1) segments.splice(0, 2, homeClusterName(segments[1] as string));
  return segments;
}

const isSynced = ({ clustersSynced, workspacesSynced }: ShardState): boolean => clustersSynced && workspacesSynced;
