import { NameMap } from './name-map.ts';

/** A Workspace, as far as finding the way is concerned. */
export interface WorkspaceEntry {
  /** Logical cluster the Workspace object lives in. */
  readonly parent: string;
  readonly name: string;
  /** `spec.cluster`; undefined while nothing was scheduled, and for a mount. */
  readonly cluster: string | undefined;
  /** `status.phase`. */
  readonly phase: string | undefined;
  /** `spec.URL` of a Workspace with `spec.mount`, empty while it has none; undefined for any other Workspace. */
  readonly mountUrl: string | undefined;
}

/** What follows from the Workspaces of one shard. */
interface Workspaces {
  /** `<parent>/<name>` → child. */
  readonly children: NameMap;
  readonly mounts: Map<string, string>;
  readonly unavailable: Set<string>;
}

const noWorkspaces = (): Workspaces => ({ children: new NameMap(), mounts: new Map(), unavailable: new Set() });

/**
 * What one shard says about itself. A complete new state is built beside the one in force and takes its place in one
 * step: nobody is sent away while a shard is listed anew, and what is gone meanwhile is gone then.
 */
export class ShardEntries {
  #clusters = new NameMap();
  #workspaces = noWorkspaces();
  #nextClusters: NameMap | undefined;
  #nextWorkspaces: Workspaces | undefined;

  get clusterCount(): number {
    return this.#clusters.size;
  }

  hasCluster(name: string): boolean {
    return this.#clusters.has(name);
  }

  /** Path of the type of a logical cluster; empty when it has none. */
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
    this.#nextClusters = new NameMap();
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

  /** C11.2: a Workspace counts as soon as it is scheduled; one that is Unavailable keeps its way, but nobody may take it. */
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
