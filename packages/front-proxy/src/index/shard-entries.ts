import { CompactStringMap } from './compact-string-map.ts';

/** The indexed fields of a Workspace. */
export interface WorkspaceEntry {
  /** Logical cluster of the Workspace object. */
  readonly parent: string;
  readonly name: string;
  /** `spec.cluster`; undefined before scheduling and for a mount. */
  readonly cluster: string | undefined;
  /** `status.phase`. */
  readonly phase: string | undefined;
  /** `spec.URL` of a Workspace with `spec.mount`, empty if absent; undefined for other Workspaces. */
  readonly mountUrl: string | undefined;
}

/** The Workspaces of one shard. Keys are `<parent>/<name>`. */
interface Workspaces {
  /** Logical clusters of the Workspaces. */
  readonly children: CompactStringMap;
  readonly mounts: Map<string, string>;
  readonly unavailable: Set<string>;
}

const noWorkspaces = (): Workspaces => ({
  children: new CompactStringMap(),
  mounts: new Map(),
  unavailable: new Set(),
});

/**
 * The indexed objects of one shard. During a relist, a new state is built beside the current one and replaces it at the end,
 * so lookups never see a partial list, and objects that were deleted in the meantime disappear.
 */
export class ShardEntries {
  #clusters = new CompactStringMap();
  #workspaces = noWorkspaces();
  #nextClusters: CompactStringMap | undefined;
  #nextWorkspaces: Workspaces | undefined;

  get clusterCount(): number {
    return this.#clusters.size;
  }

  hasCluster(name: string): boolean {
    return this.#clusters.has(name);
  }

  /** Path of the WorkspaceType of a logical cluster; empty if it has none. */
  typeOf(name: string): string {
    return this.#clusters.get(name) ?? '';
  }

  child(parent: string, name: string): string | undefined {
    return this.#workspaces.children.get(`${parent}/${name}`);
  }

  mountUrl(parent: string, name: string): string | undefined {
    return this.#workspaces.mounts.get(`${parent}/${name}`);
  }

  isUnavailable(parent: string, name: string): boolean {
    const { unavailable } = this.#workspaces;
    return unavailable.size > 0 && unavailable.has(`${parent}/${name}`);
  }

  replaceClusters(): void {
    this.#nextClusters = new CompactStringMap();
  }

  clustersReplaced(): void {
    if (this.#nextClusters !== undefined) this.#clusters = this.#nextClusters;
    this.#nextClusters = undefined;
  }

  putCluster(name: string, type: string): void {
    (this.#nextClusters ?? this.#clusters).set(name, type);
  }

  removeCluster(name: string): void {
    this.#clusters.delete(name);
    this.#nextClusters?.delete(name);
  }

  replaceWorkspaces(): void {
    this.#nextWorkspaces = noWorkspaces();
  }

  workspacesReplaced(): void {
    if (this.#nextWorkspaces !== undefined) this.#workspaces = this.#nextWorkspaces;
    this.#nextWorkspaces = undefined;
  }

  /** Indexes a Workspace once it is scheduled, as kcp does. An `Unavailable` one is kept, but paths through it are unavailable. */
  putWorkspace({ parent, name, cluster, phase, mountUrl }: WorkspaceEntry): void {
    if (phase === 'Scheduling') return;
    const { children, mounts, unavailable } = this.#nextWorkspaces ?? this.#workspaces;
    const key = `${parent}/${name}`;
    if (cluster === undefined || cluster === '') children.delete(key);
    else children.set(key, cluster);
    if (mountUrl === undefined) mounts.delete(key);
    else mounts.set(key, mountUrl);
    if (phase === 'Unavailable') unavailable.add(key);
    else unavailable.delete(key);
  }

  removeWorkspace(parent: string, name: string): void {
    const key = `${parent}/${name}`;
    for (const workspaces of [this.#workspaces, this.#nextWorkspaces]) {
      if (workspaces === undefined) continue;
      workspaces.children.delete(key);
      workspaces.mounts.delete(key);
      workspaces.unavailable.delete(key);
    }
  }
}
