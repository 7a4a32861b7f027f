import { StatusError, groupResourceText, statusErrors } from '@multiplane/apimachinery';
import { discoveryHandler, resourceHandler, type ResourceHandlerModules } from '@multiplane/apiserver';
import { type Handler, type RequestContext, writeNotFoundText, writeText } from '@multiplane/generic-server';
import { remoteStoragePath, wildcardShard } from '@multiplane/storage';
import type { CachedKindSource } from './cached-kinds.ts';
import { CachedResources } from './cached-resources.ts';
import type { CacheRequestInfo } from './cache-paths.ts';

export interface CacheEndpointsModules extends Omit<ResourceHandlerModules, 'resolver'> {
  readonly sources: readonly CachedKindSource[];
  /** The cached objects are loaded. */
  readonly isLoaded: () => boolean;
  /** Serves the store to the shards that publish into it. */
  readonly storage: Handler;
  /** Serves documents of the server itself. */
  readonly outer: Handler;
}

/** Shards whose definitions are kept: real shards, and names that clients mistype. */
const maxShards = 256;

interface ShardEndpoints {
  readonly resources: Handler;
  readonly discovery: Handler;
}

/**
 * The last handler of the chain. Each shard, and the wildcard for all shards, has its own resource handler and
 * discovery, which differ in the storage key prefix.
 */
export function cacheEndpoints(modules: CacheEndpointsModules): Handler {
  const endpointsByShard = new Map<string, ShardEndpoints>();
  const endpointsOf = (shard: string): ShardEndpoints => {
    let endpoints = endpointsByShard.get(shard);
    if (endpoints === undefined) {
      const resolver = new CachedResources({ shard }, modules);
      endpoints = {
        resources: resourceHandler({ ...modules, resolver }),
        discovery: discoveryHandler({ cachedBytes: 1024 * 1024 }, { resolver }),
      };
      endpointsByShard.set(shard, endpoints);
      if (endpointsByShard.size > maxShards) endpointsByShard.delete(endpointsByShard.keys().next().value as string);
    }
    return endpoints;
  };
  return async (context) => {
    const info = context.info as CacheRequestInfo;
    const { shard } = info;
    if (shard === undefined)
      return (info.path.startsWith(remoteStoragePath) ? modules.storage : modules.outer)(context);
    if (info.isResourceRequest) {
      if (info.cluster === undefined) writeNotFoundText(context.exchange);
      else {
        requireNoWildcard(context, shard);
        if (!modules.isLoaded()) throw statusErrors.serviceUnavailable('the cached objects are not loaded yet', 1);
        await endpointsOf(shard).resources(context);
      }
      return;
    }
    return serveDocument(context, endpointsOf(shard).discovery, modules.outer);
  };
}

/**
 * Throws for requests across all shards or logical clusters other than LIST and WATCH. kcp v0.32 accepts writes there
 * and stores the objects where no read finds them (docs/compatibility.md).
 */
function requireNoWildcard({ info }: RequestContext, shard: string): void {
  const wildcard = info.cluster === '*' ? 'logical cluster' : 'shard';
  const isWildcard = info.cluster === '*' || shard === wildcardShard;
  if (!isWildcard || info.verb === 'list' || info.verb === 'watch') return;
  if (info.verb === 'get') throw statusErrors.notFound(info, info.name);
  throw new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${info.verb} is not supported on resources of kind "${groupResourceText(info)}" in the \`*\` ${wildcard}`,
    details: { group: info.group, kind: info.resource },
  });
}

/** The list of all groups is not served, as in kcp. */
function serveDocument(context: RequestContext, discovery: Handler, outer: Handler): Promise<void> {
  const { info, exchange } = context;
  const [, first, second] = info.path.split('/');
  if (first === 'metrics') {
    // kcp sends this one response without a cache-control header.
    exchange.setHeader('cache-control', []);
    writeText(exchange, 501, 'shard-level endpoint not available at shard or workspace scope\n');
  } else if (first === 'apis' && second !== undefined && second !== '') {
    return discovery(context);
  } else if (first === 'version') {
    return outer(context);
  } else {
    writeNotFoundText(exchange);
  }
  return Promise.resolve();
}
