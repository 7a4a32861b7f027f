import { statusErrors } from '@multiplane/apimachinery';
import { parseRequestPath, resolveRequestInfo, type RequestInfo, type RequestPath } from '@multiplane/apiserver';
import { isShardName, wildcardShard } from '@multiplane/storage';

export const servicePath = '/services/cache';

/** A request with the shard it looks at; undefined for documents of the server itself. */
export type CacheRequestInfo = RequestInfo & { readonly shard?: string };

/** As clients send it that escape whatever may be escaped (kubectl). */
const escapedWildcard = /^\/clusters\/%2a(?=\/|$)/i;
const ownPath = /^\/(livez|readyz|healthz|metrics)(\/|$)/;

/**
 * Takes `/services/cache/shards/<shard|*>/clusters/<cluster|*>/…` apart (C10.1); the first part may be missing. Throws 400 for
 * what is none of it.
 */
export function classifyCacheRequest(method: string, target: RequestPath): CacheRequestInfo {
  if (target.cluster !== undefined || target.clusterPath !== undefined) throw shardRequired();
  const { query } = target;
  const path = target.path.startsWith(`${servicePath}/`) ? target.path.slice(servicePath.length) : target.path;
  if (ownPath.test(path)) return resolveRequestInfo(method, { ...parseRequestPath(path), query }, undefined);
  if (!path.startsWith('/shards/')) throw shardRequired();
  const { shard, rest } = splitShard(path.slice('/shards/'.length));
  const below = parseRequestPath(rest.replace(escapedWildcard, '/clusters/*'));
  if (below.clusterPath !== undefined)
    throw statusErrors.badRequest(`invalid cluster: "${below.clusterPath}" is not a logical cluster name`);
  // Metrics are the server's: asked for anywhere else they are refused to whoever may ask at all.
  const cluster = below.path === '/metrics' ? undefined : below.cluster;
  return Object.assign(resolveRequestInfo(method, { ...below, query }, cluster), { shard });
}

function splitShard(path: string): { readonly shard: string; readonly rest: string } {
  const slash = path.indexOf('/');
  if (slash < 0) throw statusErrors.badRequest(`unable to parse shard: no \`/\` found in path ${path}`);
  // It decodes: the whole path was looked at before.
  const shard = decodeURIComponent(path.slice(0, slash));
  if (shard !== wildcardShard && !isShardName(shard))
    throw statusErrors.badRequest(`invalid shard: "${shard.slice(0, 128)}" does not match the regex`);
  return { shard, rest: path.slice(slash) };
}

const shardRequired = (): Error => statusErrors.badRequest('a shard name is required');
