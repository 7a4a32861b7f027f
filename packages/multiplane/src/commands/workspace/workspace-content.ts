import { parseJson, type KubeObject } from '@multiplane/apimachinery';
import { builtInKeyPrefixes, contentPrefixOf } from '@multiplane/shard';
import { customResourcePrefix, SnapshotDecoder, type StoredValue } from '@multiplane/storage';
import { snapshotBytes } from '../snapshot-file.ts';

const logicalClusterPrefix = customResourcePrefix('core.kcp.io', 'logicalclusters');
const workspacePrefix = customResourcePrefix('tenancy.kcp.io', 'workspaces');
const bindingPrefix = customResourcePrefix('apis.kcp.io', 'apibindings');
const builtIn = builtInKeyPrefixes();

/** The parts of a key. */
export interface Location {
  /** Before the logical cluster: kind, and identity. */
  readonly prefix: string;
  readonly cluster: string;
  readonly rest: string;
}

export function locationOf(key: string): Location {
  const prefix = contentPrefixOf(key, builtIn);
  const slash = key.indexOf('/', prefix.length);
  return { prefix, cluster: key.slice(prefix.length, slash), rest: key.slice(slash + 1) };
}

type Workspace = KubeObject & { spec?: { cluster?: string; mount?: object } };
type LogicalCluster = KubeObject & { spec?: { owner?: { cluster?: string; name?: string } } };
type APIBinding = KubeObject & {
  spec?: { reference?: { export?: { path?: string; name?: string } } };
  status?: { boundResources?: { group?: string; resource?: string; schema?: { identityHash?: string } }[] };
};

/** An export that a workspace of the snapshot binds. */
export interface BoundExport {
  readonly path: string;
  readonly name: string;
  /** Identity → resources with objects or without. */
  readonly resources: ReadonlyMap<string, { readonly identity: string }>;
}

/** What a first pass over a snapshot of a workspace finds. */
export interface WorkspaceContent {
  /** The Workspace object of the workspace itself, in its parent. */
  readonly workspace: StoredValue;
  /** Names of the logical clusters that are restored, the workspace's own first. */
  readonly clusters: readonly string[];
  readonly uids: ReadonlySet<string>;
  /** By uid: the step in which an object is written: after its owners. */
  readonly steps: ReadonlyMap<string, number>;
  /** Number of steps. */
  readonly depth: number;
  /** Objects to restore. */
  readonly objects: number;
  readonly exports: readonly BoundExport[];
  /** Identities with objects. */
  readonly identities: ReadonlySet<string>;
  /** Sentences about workspaces that are left out, because the shards were read at different moments. */
  readonly leftOut: readonly string[];
  /** Keys that are left out: Workspaces without their logical cluster. */
  readonly dropped: ReadonlySet<string>;
}

/** Kinds on which controllers that delete look before they delete: written first. */
const first = /^\/registry\/(core\/(namespaces|serviceaccounts)|apiextensions\.k8s\.io\/|apis\.kcp\.io\/|rbac\.)/;
/** An owner chain that is longer is a cycle. */
const maxSteps = 20;

/** Reads a snapshot of a workspace. Throws for one without its Workspace object. */
export async function analyse(file: string, top: string): Promise<WorkspaceContent> {
  const decoder = new SnapshotDecoder(snapshotBytes(file));
  await decoder.header();
  const found = new ContentReader(top);
  for await (const record of decoder.records()) found.add(record);
  return found.result();
}

class ContentReader {
  readonly #top: string;
  readonly #clusters = new Map<string, LogicalCluster>();
  readonly #workspaces: { readonly key: string; readonly location: Location; readonly object: Workspace }[] = [];
  readonly #owners = new Map<string, { readonly isFirst: boolean; readonly owners: readonly string[] }>();
  readonly #perCluster = new Map<string, number>();
  readonly #exports = new Map<string, BoundExport>();
  readonly #identities = new Set<string>();
  #workspace: StoredValue | undefined;

  constructor(top: string) {
    this.#top = top;
  }

  add(record: StoredValue): void {
    const location = locationOf(record.key);
    const { prefix, cluster } = location;
    const object = parseJson(record.value) as unknown as KubeObject;
    if (prefix === workspacePrefix && (object as Workspace).spec?.cluster === this.#top) {
      this.#workspace = record;
      if (object.metadata.uid !== undefined) this.#owners.set(object.metadata.uid, { isFirst: true, owners: [] });
      return;
    }
    this.#perCluster.set(cluster, (this.#perCluster.get(cluster) ?? 0) + 1);
    const { uid, ownerReferences = [] } = object.metadata;
    const owners = ownerReferences.flatMap((owner) => (owner.uid === undefined ? [] : [owner.uid]));
    if (uid !== undefined) this.#owners.set(uid, { isFirst: first.test(record.key), owners });
    if (prefix === logicalClusterPrefix) this.#clusters.set(cluster, object);
    else if (prefix === workspacePrefix) this.#workspaces.push({ key: record.key, location, object: object });
    else if (prefix === bindingPrefix) this.#bind(object);
    else if (!builtIn.has(prefix)) this.#identities.add(prefix.split('/').at(-2) ?? '');
  }

  #bind({ spec, status }: APIBinding): void {
    const { path = '', name = '' } = spec?.reference?.export ?? {};
    if (path === '' || name === '') return;
    const key = `${path}/${name}`;
    const resources = new Map(this.#exports.get(key)?.resources);
    for (const { group = '', resource = '', schema } of status?.boundResources ?? [])
      resources.set(`${resource}.${group}`, { identity: schema?.identityHash ?? '' });
    this.#exports.set(key, { path, name, resources });
  }

  result(): WorkspaceContent {
    if (this.#workspace === undefined || !this.#clusters.has(this.#top))
      throw new Error(
        'the snapshot does not contain the Workspace object of its workspace: its parent was being deleted',
      );
    const leftOut: string[] = [];
    const dropped = new Set<string>();
    const clusters = new Set([this.#top]);
    // From the top: a workspace below one that is left out is left out, too.
    for (let grows = true; grows;) {
      grows = false;
      for (const { location, object } of this.#workspaces) {
        const named = object.spec?.cluster;
        if (named === undefined || clusters.has(named) || !clusters.has(location.cluster) || !this.#clusters.has(named))
          continue;
        clusters.add(named);
        grows = true;
      }
    }
    for (const { key, location, object } of this.#workspaces) {
      const named = object.spec?.cluster;
      if (
        !clusters.has(location.cluster) ||
        (named === undefined ? object.spec?.mount !== undefined : clusters.has(named))
      )
        continue;
      dropped.add(key);
      leftOut.push(`the workspace ${location.rest}: its logical cluster is not in the snapshot`);
    }
    for (const cluster of this.#clusters.keys())
      if (!clusters.has(cluster)) leftOut.push(`the logical cluster ${cluster}: its Workspace is not in the snapshot`);
    let objects = 1 - dropped.size;
    for (const cluster of clusters) objects += this.#perCluster.get(cluster) ?? 0;
    const { steps, depth } = this.#steps();
    return {
      workspace: this.#workspace,
      clusters: [...clusters],
      uids: new Set(this.#owners.keys()),
      steps,
      depth,
      objects,
      exports: [...this.#exports.values()],
      identities: this.#identities,
      leftOut,
      dropped,
    };
  }

  /** An object is written after its owners, so that the garbage collector never sees it without them. */
  #steps(): { readonly steps: Map<string, number>; readonly depth: number } {
    const steps = new Map<string, number>();
    const stepOf = (uid: string, chain: number): number => {
      const known = steps.get(uid);
      const found = this.#owners.get(uid);
      if (known !== undefined || found === undefined || chain > maxSteps) return known ?? 0;
      const after = found.owners.map((owner) => (this.#owners.has(owner) ? stepOf(owner, chain + 1) + 1 : 0));
      const step = Math.max(found.isFirst ? 0 : 1, ...after);
      steps.set(uid, step);
      return step;
    };
    let depth = 2;
    for (const uid of this.#owners.keys()) depth = Math.max(depth, stepOf(uid, 0) + 1);
    return { steps, depth };
  }
}

export { logicalClusterPrefix, workspacePrefix };
