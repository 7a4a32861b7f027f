import {
  buildHandlerChain,
  discoveryHandler,
  openapiHandler,
  resourceHandler,
  reviewHandlers,
  WatchHub,
  type HandlerChainModules,
} from '@multiplane/apiserver';
import { tokenRequestKind } from '@multiplane/apis';
import { lowPriorityQueue, normalPriorityQueue } from '@multiplane/component-base';
import { hasLeftScheduling, logicalClusters } from '@multiplane/controllers';
import {
  withStartupGate,
  type AuditModules,
  buildChain,
  clusterOfToken,
  defaultHandlerChainOptions,
  nonResourceEndpoints,
  versionInfo,
  waitLimitMs,
  withImpersonation,
  type ChainModules,
  type ConnectionTable,
  type Draining,
  type ServerExchange,
  type Handler,
  type Reauthorizer,
  type RequestAuthenticator,
  type StartupGate,
} from '@multiplane/generic-server';
import { shardFlowControl } from '../flow-control/shard-flow-control.ts';
import { impersonationPolicy } from '../authentication/impersonation-policy.ts';
import type { HomeWorkspaces } from '../home-workspaces.ts';
import { builtInPrefixes } from '../content-prefix.ts';
import { withRequestLimits } from '../limits/request-limits.ts';
import { RequestTurns } from '../limits/request-turns.ts';
import type { MountProxy } from '../mounts/mount-proxy.ts';
import type { InactiveClusters } from '../inactive-clusters.ts';
import type { ShardOptions } from '../options.ts';
import { snapshotEndpoint } from '../snapshot/snapshot-endpoint.ts';
import { WorkspaceRestore } from '../snapshot/workspace-restore.ts';
import type { AccessControl } from './access-control.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';
import type { VirtualResources } from './virtual-resources.ts';
import type { WritePath } from './write-path.ts';

/** Filters with state of their own. */
export interface RequestFilters {
  readonly connections: ConnectionTable;
  /** Ends long-running requests at shutdown. */
  readonly draining: Draining;
  /** Ends long-running requests whose callers lose their access. */
  readonly reauthorizer: Reauthorizer;
  /** Refuses requests during start-up. */
  readonly starting: StartupGate;
  /** Absent without an audit policy. */
  readonly audit: AuditModules | undefined;
  readonly inactive: InactiveClusters;
  /** Absent without the feature gate WorkspaceMounts. */
  readonly mounts: MountProxy | undefined;
  /** Absent on all shards but the root shard, and without `--enable-home-workspaces`. */
  readonly home: HomeWorkspaces | undefined;
}

interface Modules extends Infrastructure, ReadPath, AccessControl, WritePath, RequestFilters {
  readonly virtualResources: VirtualResources;
  /** Version of this program. */
  readonly version: string;
  readonly externalUrl: () => string;
}

type ExchangeHandler = (exchange: ServerExchange) => Promise<void>;

/** Chains with the same filters; each result answers every exchange and never rejects. */
export interface RequestChains {
  /** The shard's own endpoints, behind its own authenticator or that of an embedded server that dispatches requests. */
  readonly shard: (authenticator?: RequestAuthenticator) => ExchangeHandler;
  /** Other endpoints behind the same filters; `own` replaces some of them. */
  readonly other: (own: Partial<ChainModules>, endpoints: Handler) => ExchangeHandler;
}

/** The handler chain: filters → authentication → audit → impersonation → authorization → endpoints. */
export function requestChain(options: ShardOptions, modules: Modules): RequestChains {
  const { authentication, authorization, clock, logger, metrics, resolver, mounts } = modules;
  const version = versionInfo(modules.version);
  const chainOptions = {
    ...defaultHandlerChainOptions,
    requestTimeoutMs: options.requestTimeout,
    maxReadOnly: options.maxRequestsInflight,
    maxMutating: options.maxMutatingRequestsInflight,
    corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)),
  };
  const flowControl = shardFlowControl(
    {
      seats: options.maxRequestsInflight + options.maxMutatingRequestsInflight,
      waitLimitMs: waitLimitMs(options.requestTimeout),
    },
    modules,
  );
  const turns = new RequestTurns(
    { waitLimitMs: waitLimitMs(options.requestTimeout) },
    { ...modules, flowControl, turns: normalPriorityQueue, idleTurns: lowPriorityQueue },
  );
  const chainModules: HandlerChainModules = {
    clock,
    logger,
    metrics,
    draining: modules.draining,
    reauthorizer: modules.reauthorizer,
    flowControl,
    watchesSignal: true,
    connections: modules.connections,
    authenticator: authentication.requests,
    audit: modules.audit,
    tracer: modules.tracer,
    beforeAuthentication: [withStartupGate(modules.starting), modules.inactive.filter],
    afterAuthentication: mounts === undefined ? [] : [mounts.forward],
    beforeAuthorization: modules.home === undefined ? [] : [modules.home.filter],
    onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
    authorizer: authorization.requests,
    resolvePath: (path) => Promise.resolve(modules.clusters.resolve(path)),
    clusterOfRequest: clusterOfToken,
    impersonation: withImpersonation({ authorizer: authorization.reviews, policy: impersonationPolicy }),
    resolver,
    resources: withRequestLimits({ ...modules, turns, flowControl }, resourceEndpoints(options, modules)),
    discovery: discoveryHandler({}, modules.virtualResources),
    openapi: openapiHandler({ version: version.gitVersion }, { resolver, clock, faults: modules.faults }),
    outer: snapshotEndpoint(
      { shard: options.shardName, backend: options.storageBackend },
      {
        storage: modules.rawStorage,
        cache: modules.cache,
        builtIn: builtInPrefixes(modules.builtIn),
        restore: new WorkspaceRestore(
          { shard: options.shardName, eventTtlSeconds: Math.ceil(options.eventTtl / 1000) },
          { cache: modules.cache, builtIn: builtInPrefixes(modules.builtIn) },
        ),
        clock,
        next: serverEndpoints(version, modules),
      },
    ),
  };
  return {
    shard: (authenticator = authentication.requests) =>
      buildHandlerChain(chainOptions, { ...chainModules, authenticator }),
    // Requests of these endpoints may cause others to this shard, so they must not occupy the same seats.
    other: (own, endpoints) =>
      buildChain(chainOptions, { ...chainModules, flowControl: undefined, watchesSignal: false, ...own }, endpoints),
  };
}

/** Reads and writes of objects, and the review kinds that are answered without storage. */
function resourceEndpoints(options: ShardOptions, modules: Modules): Handler {
  const { authentication, authorization, clock, resolver, store, decoder, waiter } = modules;
  const { serviceAccountMaxTokenExpiration: maxExpirationMs } = options;
  return resourceHandler({
    resolver,
    store,
    decoder,
    authorizer: authorization.requests,
    virtualResources: options.features.enabled('CacheAPIs')
      ? (request, virtual) => modules.virtualResources.proxy.handle(request, virtual)
      : undefined,
    createHandlers: reviewHandlers(
      {
        audiences: options.apiAudiences,
        now: () => clock.now(),
        ...(maxExpirationMs > 0 ? { maxTokenExpirationSeconds: Math.floor(maxExpirationMs / 1000) } : {}),
      },
      {
        authorizer: authorization.reviews,
        rules: authorization.rules,
        tokensIn: authentication.tokensIn,
        serviceAccountTokens: authentication.serviceAccountTokens,
        serviceAccounts: authentication.serviceAccounts,
      },
    ),
    // Another shard that creates a LogicalCluster here may wait for its outcome within the same request.
    outcomes: new Map([
      [
        `${logicalClusters.group}/${logicalClusters.resource}`,
        async ({ cluster }, ms, signal) => (await waiter.until(cluster, hasLeftScheduling, ms, signal)) !== undefined,
      ],
    ]),
    hub: new WatchHub({}, { clock }),
    clock,
    random: Math.random,
    connectKind: () => tokenRequestKind,
  });
}

/** Health, metrics, version and the OpenID documents of the service account issuer. */
function serverEndpoints(
  version: ReturnType<typeof versionInfo>,
  modules: Modules,
): ReturnType<typeof nonResourceEndpoints> {
  const { health, registry, metrics, logger, externalUrl } = modules;
  const { serviceAccountTokens } = modules.authentication;
  const keySet = serviceAccountTokens.keySet();
  return nonResourceEndpoints({
    health,
    registry,
    metrics,
    logger,
    version,
    issuer: {
      openIdConfiguration: () => serviceAccountTokens.discoveryDocument(`${externalUrl()}/openid/v1/jwks`),
      jwks: () => keySet,
    },
  });
}
