import { statusErrors } from '@multiplane/apimachinery';
import { parseRequestPath, type RequestInfo, type RequestPath, resolveRequestInfo } from '@multiplane/generic-server';
import { isShardName, remoteStoragePath, wildcardShard } from '@multiplane/storage';
import { isStorageStream } from './storage-endpoint.ts';

export const servicePath = '/services/cache';

/** A request and the shard in its path; undefined for documents of the server itself. */
export type CacheRequestInfo = RequestInfo & { readonly shard?: string };

const ownPath = /^\/(livez|readyz|healthz|metrics)(\/|$)/;

/**
 * Parses `/services/cache/shards/<shard|*>/clusters/<cluster|*>/…`; the prefix `/services/cache` may be missing. Throws
 * 400 for other paths.
 */
export function classifyCacheRequest(method: string, target: RequestPath): CacheRequestInfo {
  if (target.cluster !== undefined || target.clusterPath !== undefined) throw shardRequired();
  const { query } = target;
  const path = target.path.startsWith(`${servicePath}/`) ? target.path.slice(servicePath.length) : target.path;
  if (ownPath.test(path)) return resolveRequestInfo(method, { ...parseRequestPath(path), query }, undefined);
  if (path.startsWith(remoteStoragePath)) {
    const info = resolveRequestInfo(method, { ...parseRequestPath(path), query }, undefined);
    return Object.assign(info, { isStream: isStorageStream(path) });
  }
  if (!path.startsWith('/shards/')) throw shardRequired();
  const { shard, rest } = splitShard(path.slice('/shards/'.length));
  const below = parseRequestPath(rest);
  if (below.clusterPath !== undefined)
    throw statusErrors.badRequest(`invalid cluster: "${below.clusterPath}" is not a logical cluster name`);
  // Metrics belong to the server: within a logical cluster the path is denied by authorization.
  const cluster = below.path === '/metrics' ? undefined : below.cluster;
  const info = resolveRequestInfo(method, { ...below, query }, cluster);
  const colon = info.resource.indexOf(':');
  if (colon < 0) return Object.assign(info, { shard });
  // `<resource>:<identity of the CachedResource>`
  return Object.assign(info, {
    shard,
    resource: info.resource.slice(0, colon),
    identity: info.resource.slice(colon + 1),
  });
}

function splitShard(path: string): { readonly shard: string; readonly rest: string } {
  const slash = path.indexOf('/');
  if (slash < 0) throw statusErrors.badRequest(`unable to parse shard: no \`/\` found in path ${path}`);
  // Valid percent-encoding: the whole path was validated before.
  const shard = decodeURIComponent(path.slice(0, slash));
  if (shard !== wildcardShard && !isShardName(shard))
    throw statusErrors.badRequest(`invalid shard: "${shard.slice(0, 128)}" does not match the regex`);
  return { shard, rest: path.slice(slash) };
}

const shardRequired = (): Error => statusErrors.badRequest('a shard name is required');
