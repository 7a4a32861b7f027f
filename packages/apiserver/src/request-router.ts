import { mastersGroup, statusErrors, type StatusError } from '@multiplane/apimachinery';
import {
  type Handler,
  isLongRunning,
  type RequestContext,
  type RequestInfo,
  type RequestMetrics,
  type ServerRequestContext,
  writeNotFoundText,
  writeStatusError,
} from '@multiplane/generic-server';
import { unknownResource } from './endpoints/unknown-resource.ts';
import type { ResourceResolver } from './registry/definitions/resource-resolver.ts';

export interface RoutingModules {
  readonly resolver: ResourceResolver;
  readonly metrics: RequestMetrics;
  /** Serves resources that the resolver knows: all methods and subresources. */
  readonly resources: Handler;
  /** Serves `/api` and `/apis` down to the version. */
  readonly discovery: Handler;
  /** Serves `/openapi/…`. */
  readonly openapi: Handler;
  /** Serves all other paths: health, version, metrics, well-known documents. */
  readonly outer: Handler;
}

/** The first path segments that a workspace serves; all others are served by the server, whatever the workspace. */
const workspaceDocuments = new Set(['api', 'apis', 'openapi']);

/** Routes a request at the end of the handler chain. The URL grammar is fixed, so routing takes a few comparisons. */
export function routeRequests(modules: RoutingModules): (context: ServerRequestContext) => Promise<void> {
  return (context) => {
    const { info } = context;
    const first = info.isResourceRequest ? info.apiPrefix : firstSegment(info.path);
    if (context.missingWorkspace !== undefined && (workspaceDocuments.has(first) || mayKnow(context))) {
      throw missing(context.missingWorkspace);
    }
    if (info.isResourceRequest) return routeResource(modules, context);
    switch (first) {
      case 'api':
      case 'apis':
        return modules.discovery(context);
      case 'openapi':
        return modules.openapi(context);
      default:
        return modules.outer(context);
    }
  };
}

/** For everybody else paths that are open to all answer as in a workspace that exists. */
const mayKnow = ({ user }: ServerRequestContext): boolean => user.groups.includes(mastersGroup);

/** A workspace may be moved to another shard before this shard or the front-proxy knows it: the client should retry then. */
function missing({ path, isOnOtherShard }: NonNullable<ServerRequestContext['missingWorkspace']>): StatusError {
  return isOnOtherShard
    ? statusErrors.tooManyRequests('Not found on this shard', 1)
    : statusErrors.notFound({ group: 'tenancy.kcp.io', resource: 'workspaces' }, path);
}

function routeResource(modules: RoutingModules, context: ServerRequestContext): Promise<void> {
  const { cluster, group, version, resource, identity } = context.info;
  const definition =
    cluster === undefined ? undefined : modules.resolver.resolve(cluster, group, version, resource, identity);
  if (definition === undefined) {
    respondUnknown(modules.resolver, context, context.info);
    return Promise.resolve();
  }
  context.definition = definition;
  return isLongRunning(context.info) ? runLong(modules, context) : modules.resources(context);
}

async function runLong({ metrics, resources }: RoutingModules, context: ServerRequestContext): Promise<void> {
  const ended = metrics.longRunningStarted(context.exchange, context.info, context.definition);
  try {
    await resources(context);
  } finally {
    ended();
  }
}

function respondUnknown(resolver: ResourceResolver, context: RequestContext, info: RequestInfo): void {
  const error = info.cluster === undefined ? undefined : unknownResource(resolver, info.group);
  if (error === undefined) writeNotFoundText(context.exchange);
  else writeStatusError(context, error);
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path.slice(1) : path.slice(1, end);
}
