import type { LogicalClusterName } from '@multiplane/apimachinery';
import { customResourcesSegment, type ObjectLocation } from './keys.ts';

/**
 * Layout of the keys of cached objects:
 *
 *   /cache/<group|core>/<resource>/<customresources|identity>/<shard>/<cluster>/[<namespace>/]<name>
 *
 * A list over all shards, one shard, one logical cluster of a shard, or one namespace is one prefix each. A list of one
 * logical cluster over all shards has no prefix: it filters keys with {@link parseCacheKey}.
 */
export const cachePrefix = '/cache/';

/** `*`: the objects of all shards (LIST and WATCH only). */
export const wildcardShard = '*';

const shardName = /^[a-z0-9-:]{1,61}$/;

/** True for a valid shard name in a path or key; `*` is not one. */
export function isShardName(text: string): boolean {
  return shardName.test(text);
}

/** A resource of the cache, with its identity. */
export interface CachedResourceKind {
  /** Empty: core. */
  readonly group: string;
  readonly resource: string;
  /** Identity hash of a CachedResource; absent: `customresources`, the segment of all system kinds. */
  readonly identity?: string | undefined;
}

/** Location of a cached object. */
export interface CachedObjectLocation extends ObjectLocation {
  readonly shard: string;
}

/** The parts of a key. */
export interface CacheKeyParts extends CachedObjectLocation {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}

/** Prefix of the objects of a resource of one shard; with `*` of all shards, whose names are the next segment of the keys. */
export function cacheResourcePrefix(kind: CachedResourceKind, shard: string): string {
  const { group, resource, identity = customResourcesSegment } = kind;
  const prefix = `${cachePrefix}${part(group === '' ? 'core' : group)}/${part(resource)}/${part(identity)}/`;
  if (shard === wildcardShard) return prefix;
  if (!isShardName(shard)) throw new TypeError(`invalid shard name: ${JSON.stringify(shard)}`);
  return `${prefix}${shard}/`;
}

/** The key of a cached object. Throws a TypeError for parts that would change the layout of the key. */
export function cacheKey(kind: CachedResourceKind, location: CachedObjectLocation): string {
  const { shard, cluster, namespace, name } = location;
  if (shard === wildcardShard || (cluster as string) === '*')
    throw new TypeError('a key requires a shard and a cluster');
  const inner = namespace === '' ? '' : `${part(namespace)}/`;
  return `${cacheResourcePrefix(kind, shard)}${part(cluster)}/${inner}${part(name)}`;
}

/** Parses a key below {@link cachePrefix}; undefined when it does not match the layout. */
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
    throw new TypeError(`invalid key segment: ${JSON.stringify(text)}`);
  return text;
}
