import { createHash } from 'node:crypto';
import {
  base36Sha224Bytes,
  encodeJson,
  isJsonObject,
  parseJson,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';

/** Where the objects of a snapshot go. */
export interface Relocation {
  /** Hexadecimal; new names and uids follow from it, so that a second attempt makes the same ones. */
  readonly id: string;
  /** Path of the workspace in the snapshot, and where it is restored. */
  readonly from: string;
  readonly to: string;
  /** The shard that gets the logical clusters. */
  readonly shard: string;
  /** New names of logical clusters; empty: they keep their names. */
  readonly clusters: ReadonlyMap<string, string>;
  /** Uids of the objects of the snapshot, which get new ones; empty: they are kept. */
  readonly uids: ReadonlySet<string>;
  /** Identities of exports outside of the subtree that differ in the target. */
  readonly identities: ReadonlyMap<string, string>;
}

const shardAnnotation = 'core.kcp.io/shard';
const shardHashAnnotation = 'internal.tenancy.kcp.io/shard';
const tokenType = 'kubernetes.io/service-account-token';

/** Kinds that refer to logical clusters, workspaces, uids and identities everywhere in their content. */
const refersToWorkspaces = (group: string): boolean =>
  group === 'rbac.authorization.k8s.io' || /(^|\.)(kcp\.io|multiplane\.dev|multiplane\.io)$/.test(group);

/** The new name of a logical cluster; of the form of generated ones. */
export const newClusterName = (id: string, name: string): string =>
  base36Sha224Bytes(Buffer.from(`${id}/${name}`)).slice(0, 16);

/** A new uid (RFC 9562, version 8). */
export function newUid(id: string, uid: string): string {
  const bytes = createHash('sha256').update(`${id}/${uid}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Rewrites the objects of a workspace for the place where it is restored. What is rewritten:
 *
 *   metadata of every object   `uid`, `uid` of owner references, labels and annotations: names of logical clusters, paths
 *                              of the workspace and below, uids
 *   kinds of kcp, RBAC         the same in all their strings, and identities of exports
 *   Workspace, LogicalCluster  the shard
 *   Event                      uid of the involved object
 *   Secret                     a token of a ServiceAccount is removed, when uids are new: it names another ServiceAccount. The
 *                              target issues a new one.
 *   keys                       name of the logical cluster, identity
 *
 * Everything else keeps its bytes. Resource versions are always new. Names and paths are matched as whole segments.
 */
export class ObjectRewriter {
  readonly #relocation: Relocation;
  readonly #path: RegExp;

  constructor(relocation: Relocation) {
    this.#relocation = relocation;
    const literal = relocation.from.replaceAll('-', '\\-');
    this.#path = new RegExp(`(?<![\\w:.-])${literal}(?![\\w.-])`, 'g');
  }

  cluster(name: string): string {
    return this.#relocation.clusters.get(name) ?? name;
  }

  key({ prefix, cluster, rest }: { prefix: string; cluster: string; rest: string }): string {
    const segments = prefix.split('/');
    const identity = segments.at(-2) ?? '';
    segments[segments.length - 2] = this.#relocation.identities.get(identity) ?? identity;
    return `${segments.join('/')}${this.cluster(cluster)}/${rest}`;
  }

  /** The object for its new place; the same Buffer if nothing changes. `edit` changes it further. */
  object(value: Buffer, edit?: (object: KubeObject) => void): Buffer {
    const object = parseJson(value) as unknown as KubeObject;
    const before = encodeJson(object);
    this.#rewrite(object);
    edit?.(object);
    const after = encodeJson(object);
    return after === before ? value : Buffer.from(after);
  }

  #rewrite(object: KubeObject): void {
    const { metadata, kind, apiVersion } = object;
    const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
    const { shard, uids } = this.#relocation;
    if (refersToWorkspaces(group)) {
      const { managedFields, ...others } = metadata;
      object.metadata = { ...(this.#json(others) as unknown as KubeObject['metadata']) };
      if (managedFields !== undefined) object.metadata.managedFields = managedFields;
      for (const key of Object.keys(object)) if (key !== 'metadata') object[key] = this.#json(object[key] as Json);
      const { annotations } = object.metadata;
      if (annotations?.[shardAnnotation] !== undefined) annotations[shardAnnotation] = shard;
      if (annotations?.[shardHashAnnotation] !== undefined) annotations[shardHashAnnotation] = shardHash(shard);
      return;
    }
    for (const field of ['uid', 'ownerReferences', 'labels', 'annotations'] as const) {
      if (metadata[field] === undefined) continue;
      (metadata as unknown as JsonObject)[field] = this.#json(metadata[field]);
    }
    if (kind === 'Event' && isJsonObject(object['involvedObject']))
      object['involvedObject'] = this.#json(object['involvedObject']);
    const { data } = object;
    if (uids.size > 0 && kind === 'Secret' && object['type'] === tokenType && isJsonObject(data)) delete data['token'];
  }

  #json(value: Json): Json {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.#json(item));
    if (!isJsonObject(value)) return value;
    for (const key of Object.keys(value)) value[key] = this.#json(value[key] as Json);
    return value;
  }

  #text(text: string): string {
    const { id, uids, identities, clusters, from, to } = this.#relocation;
    if (uids.has(text)) return newUid(id, text);
    const identity = identities.get(text);
    if (identity !== undefined) return identity;
    const renamed =
      clusters.size === 0 ? text : text.replaceAll(/[a-z0-9-]+/g, (segment) => clusters.get(segment) ?? segment);
    return from === to ? renamed : renamed.replaceAll(this.#path, to);
  }
}

/** kcp's hash of the name of a shard, in an annotation of Workspaces. */
function shardHash(name: string): string {
  return base36Sha224Bytes(Buffer.from(name)).slice(0, 8);
}
