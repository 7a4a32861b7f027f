import { statusErrors, type StatusError } from '@multiplane/apimachinery';
import type { ResourceResolver } from './registry/resource-resolver.ts';
import type { Handler, RequestContext } from './request-context.ts';
import type { RequestInfo } from './request-info.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { writeNotFoundText, writeStatusError } from './responses.ts';
import { isLongRunning, type ServerRequestContext } from './server-request-context.ts';

export interface RoutingModules {
  readonly resolver: ResourceResolver;
  readonly metrics: RequestMetrics;
  /** Requests for resources that the resolver knows: all methods, all subresources. */
  readonly resources: Handler;
  /** `/api` and `/apis` with what is below them down to the version. */
  readonly discovery: Handler;
  /** `/openapi/…`. */
  readonly openapi: Handler;
  /** Everything else: health, version, metrics, well-known documents. */
  readonly outer: Handler;
}

/** What a workspace answers; the rest is the server's own and the same below any path. */
const workspaceDocuments = new Set(['api', 'apis', 'openapi']);

/** The end of the chain: the URL grammar is fixed (K1.2), so routing is a few comparisons. */
export function routeRequests(modules: RoutingModules): (context: ServerRequestContext) => Promise<void> {
  return (context) => {
    const { info } = context;
    const first = info.isResourceRequest ? info.apiPrefix : firstSegment(info.path);
    if (context.missingWorkspace !== undefined && workspaceDocuments.has(first)) {
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

/** C11.7: a front-proxy may have heard of a move that this shard has not, or the other way round. */
function missing({ path, isElsewhere }: NonNullable<ServerRequestContext['missingWorkspace']>): StatusError {
  return isElsewhere
    ? statusErrors.tooManyRequests('Not found on this shard', 1)
    : statusErrors.notFound({ group: 'tenancy.kcp.io', resource: 'workspaces' }, path);
}

function routeResource(modules: RoutingModules, context: ServerRequestContext): Promise<void> {
  const { cluster, group, version, resource, identity } = context.info;
  const definition =
    cluster === undefined ? undefined : modules.resolver.resolve(cluster, group, version, resource, identity);
  if (definition === undefined) {
    answerUnknown(modules.resolver, context, context.info);
    return Promise.resolve();
  }
  context.definition = definition;
  return isLongRunning(context.info) ? runLong(modules, context) : modules.resources(context);
}

async function runLong({ metrics, resources }: RoutingModules, context: ServerRequestContext): Promise<void> {
  const ended = metrics.longRunningBegan(context.exchange, context.info, context.definition);
  try {
    await resources(context);
  } finally {
    ended();
  }
}

/** Below groups that are compiled in there is a Status, elsewhere nobody knows the path (K1.2). */
function answerUnknown(resolver: ResourceResolver, context: RequestContext, info: RequestInfo): void {
  if (info.cluster !== undefined && (info.apiPrefix === 'api' || resolver.isBuiltInGroup(info.group))) {
    writeStatusError(context, statusErrors.unknownResource());
  } else {
    writeNotFoundText(context.exchange);
  }
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path.slice(1) : path.slice(1, end);
}
