import { StatusError, groupResourceText, statusErrors } from '@multiplane/apimachinery';
import {
  discoveryHandler,
  resourceHandler,
  writeNotFoundText,
  writeText,
  type Handler,
  type RequestContext,
  type ResourceHandlerModules,
} from '@multiplane/apiserver';
import { wildcardShard } from '@multiplane/storage';
import type { KindSource } from './cached-kinds.ts';
import { CachedResources } from './cached-resources.ts';
import type { CacheRequestInfo } from './cache-paths.ts';

export interface CacheEndpointsModules extends Omit<ResourceHandlerModules, 'resolver'> {
  readonly sources: readonly KindSource[];
  /** There are replicas to show. */
  readonly isLoaded: () => boolean;
  /** Documents of the server itself. */
  readonly outer: Handler;
}

/** Shards whose definitions are kept ready; there are as many as shards, and as many again as somebody mistypes. */
const maxShards = 256;

interface ShardEndpoints {
  readonly resources: Handler;
  readonly discovery: Handler;
}

/**
 * The end of the chain. Every shard, and all of them together, is a place of its own, with the resource pipeline of every
 * other server; only its keys differ.
 */
export function cacheEndpoints(modules: CacheEndpointsModules): Handler {
  const places = new Map<string, ShardEndpoints>();
  const endpointsOf = (shard: string): ShardEndpoints => {
    let endpoints = places.get(shard);
    if (endpoints === undefined) {
      const resolver = new CachedResources({ shard }, modules);
      endpoints = {
        resources: resourceHandler({}, { ...modules, resolver }),
        discovery: discoveryHandler({ cachedBytes: 1024 * 1024 }, { resolver }),
      };
      places.set(shard, endpoints);
      if (places.size > maxShards) places.delete(places.keys().next().value as string);
    }
    return endpoints;
  };
  return async (context) => {
    const info = context.info as CacheRequestInfo;
    const { shard } = info;
    if (shard === undefined) return modules.outer(context);
    if (info.isResourceRequest) {
      if (info.cluster === undefined) writeNotFoundText(context.exchange);
      else if (!isRefused(context, shard)) {
        if (!modules.isLoaded()) throw statusErrors.serviceUnavailable('the replicas are not loaded yet', 1);
        await endpointsOf(shard).resources(context);
      }
      return;
    }
    return document(context, endpointsOf(shard).discovery, modules.outer);
  };
}

/**
 * Over all shards or clusters one lists and watches (C1.4); an object has one place. The reference accepts writes there,
 * which then lie where nobody finds them (C16.2).
 */
function isRefused({ info }: RequestContext, shard: string): false {
  const wildcard = info.cluster === '*' ? 'logical cluster' : 'shard';
  const everywhere = info.cluster === '*' || shard === wildcardShard;
  if (!everywhere || info.verb === 'list' || info.verb === 'watch') return false;
  if (info.verb === 'get') throw statusErrors.notFound(info, info.name);
  throw new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${info.verb} is not supported on resources of kind "${groupResourceText(info)}" in the \`*\` ${wildcard}`,
    details: { group: info.group, kind: info.resource },
  });
}

/** Discovery begins below a group: the list of all groups is nobody's business here (recorded). */
function document(context: RequestContext, discovery: Handler, outer: Handler): Promise<void> {
  const { info, exchange } = context;
  const [, first, second] = info.path.split('/');
  if (first === 'metrics') {
    // The one answer without it (recorded).
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
