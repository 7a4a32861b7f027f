import type { LogicalClusterName } from '@multiplane/apimachinery';
import { customResourcesSegment, type ObjectLocation } from './keys.ts';

/**
 * Layout of the keys of replicated objects (C4.1, C10.2):
 *
 *   /cache/<group|core>/<resource>/<customresources|identity>/<shard>/<cluster>/[<namespace>/]<name>
 *
 * so that a list over all shards and clusters, over one shard, over one cluster of a shard and over one namespace each is
 * one prefix. One cluster over all shards is none: there the keys are looked at, with {@link parseCacheKey}.
 */
export const cachePrefix = '/cache/';

/** `*`: what all shards replicate (LIST and WATCH only). */
export const wildcardShard = '*';

const shardName = /^[a-z0-9-:]{1,61}$/;

/** True for what may be the name of a shard in a path or key (C10.1); `*` is none. */
export function isShardName(text: string): boolean {
  return shardName.test(text);
}

/** Whose objects: all of one resource that are stored under one identity. */
export interface CachedResourceKind {
  /** Empty: core. */
  readonly group: string;
  readonly resource: string;
  /** Identity hash of a CachedResource; absent: `customresources`, the segment of all system kinds. */
  readonly identity?: string | undefined;
}

/** Where one replica stands. */
export interface CachedObjectLocation extends ObjectLocation {
  readonly shard: string;
}

/** The parts of a key. */
export interface CacheKeyParts extends CachedObjectLocation {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}

/** Prefix of a resource: of what one shard replicates, or with `*` of all shards (then the shard comes next in the keys). */
export function cacheResourcePrefix(kind: CachedResourceKind, shard: string): string {
  const { group, resource, identity = customResourcesSegment } = kind;
  const prefix = `${cachePrefix}${part(group === '' ? 'core' : group)}/${part(resource)}/${part(identity)}/`;
  if (shard === wildcardShard) return prefix;
  if (!isShardName(shard)) throw new TypeError(`not the name of a shard: ${JSON.stringify(shard)}`);
  return `${prefix}${shard}/`;
}

/** The key of one replica. Throws a TypeError for parts that would leave their place in the key. */
export function cacheKey(kind: CachedResourceKind, location: CachedObjectLocation): string {
  const { shard, cluster, namespace, name } = location;
  if (shard === wildcardShard || (cluster as string) === '*') throw new TypeError('a key needs a shard and a cluster');
  const inner = namespace === '' ? '' : `${part(namespace)}/`;
  return `${cacheResourcePrefix(kind, shard)}${part(cluster)}/${inner}${part(name)}`;
}

/** The parts of a key below {@link cachePrefix}; undefined when it is not of that shape. */
export function parseCacheKey(key: string): CacheKeyParts | undefined {
  if (!key.startsWith(cachePrefix)) return undefined;
  const parts = key.slice(cachePrefix.length).split('/');
  if ((parts.length !== 6 && parts.length !== 7) || parts.includes('')) return undefined;
  const [group, resource, identity, shard, cluster] = parts as [string, string, string, string, string];
  return {
    group: group === 'core' ? '' : group,
    resource,
    identity,
    shard,
    cluster: cluster as LogicalClusterName,
    namespace: parts.length === 7 ? (parts[5] as string) : '',
    name: parts.at(-1) as string,
  };
}

function part(text: string): string {
  if (text === '' || text === '.' || text === '..' || text.includes('/'))
    throw new TypeError(`not a part of a key: ${JSON.stringify(text)}`);
  return text;
}
