import {
  buildChain,
  buildHandlerChain,
  clusterOfToken,
  defaultHandlerChainOptions,
  discoveryHandler,
  openapiHandler,
  outerApplication,
  resourceHandler,
  reviewHandlers,
  WatchHub,
  versionInfo,
  withImpersonation,
  withStarting,
  type AuditModules,
  type ConnectionTable,
  type DefinitionResolver,
  type ChainModules,
  type Draining,
  type EdgeExchange,
  type Handler,
  type HandlerChainModules,
  type RequestAuthenticator,
  type RequestMetrics,
  type Starting,
} from '@multiplane/apiserver';
import { tokenRequestKind } from '@multiplane/apis';
import type { Clock, HealthChecks, Logger, MetricsRegistry } from '@multiplane/component-base';
import { hasBegun, logicalClusters } from '@multiplane/controllers';
import { impersonationPolicy } from '../authentication/impersonation-policy.ts';
import type { ShardAuthentication } from '../authentication/shard-authentication.ts';
import type { ShardAuthorization } from '../authorization/shard-authorization.ts';
import type { HomeWorkspaces } from '../home-workspaces.ts';
import type { MountProxy } from '../mounts/mount-proxy.ts';
import type { InactiveClusters } from '../inactive-clusters.ts';
import type { LogicalClusterIndex } from '../logical-cluster-index.ts';
import type { LogicalClusterWaits } from '../logical-cluster-waits.ts';
import type { ShardOptions } from '../options.ts';
import type { WritePath } from './write-path.ts';

interface Modules extends Pick<WritePath, 'store' | 'decoder'> {
  readonly version: string;
  readonly externalUrl: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: RequestMetrics;
  readonly draining: Draining;
  readonly starting: Starting;
  readonly connections: ConnectionTable;
  readonly authentication: ShardAuthentication;
  readonly authorization: ShardAuthorization;
  readonly clusters: LogicalClusterIndex;
  readonly waits: LogicalClusterWaits;
  readonly resolver: DefinitionResolver;
  readonly audit: AuditModules | undefined;
  readonly inactive: InactiveClusters;
  /** Absent: workspaces are not mounted. */
  readonly mounts: MountProxy | undefined;
  /** On the shard that has them. */
  readonly home: HomeWorkspaces | undefined;
}

type Answer = (exchange: EdgeExchange) => Promise<void>;

/** Chains of the same stages; each result answers every exchange and never rejects. */
export interface RequestChains {
  /** The shard's own endpoints, behind its own authenticator or that of a server which answers for its callers. */
  readonly shard: (authenticator?: RequestAuthenticator) => Answer;
  /** Other endpoints, with stages of their own. */
  readonly other: (own: Partial<ChainModules>, endpoints: Handler) => Answer;
}

/** The way of a request from authentication to the endpoints. */
export function requestChain(options: ShardOptions, modules: Modules): RequestChains {
  const { authentication, authorization, clock, logger, metrics, resolver, store, decoder } = modules;
  const version = versionInfo(modules.version);
  const keySet = authentication.serviceAccountTokens.keySet();
  const chainOptions = {
    ...defaultHandlerChainOptions,
    requestTimeoutMs: options.requestTimeout,
    maxReadOnly: options.maxRequestsInflight,
    maxMutating: options.maxMutatingRequestsInflight,
    corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)),
  };
  const chainModules: HandlerChainModules = {
    clock,
    logger,
    metrics,
    draining: modules.draining,
    connections: modules.connections,
    authenticator: authentication.requests,
    audit: modules.audit,
    beforeAuthentication: [
      withStarting(modules.starting),
      modules.inactive.filter,
      ...(modules.mounts === undefined ? [] : [modules.mounts.keepToken]),
    ],
    afterAuthentication: modules.mounts === undefined ? [] : [modules.mounts.forward],
    beforeAuthorization: modules.home === undefined ? [] : [modules.home.filter],
    onRefused: (error) => logger.debug('credentials refused', { error }),
    authorizer: authorization.requests,
    resolvePath: (path) => Promise.resolve(modules.clusters.resolve(path)),
    clusterOfRequest: clusterOfToken,
    impersonation: withImpersonation({ authorizer: authorization.reviews, policy: impersonationPolicy }),
    resolver,
    resources: resourceHandler(
      {},
      {
        resolver,
        store,
        decoder,
        authorizer: authorization.requests,
        createHandlers: reviewHandlers(
          {
            audiences: options.apiAudiences,
            now: () => clock.now(),
            ...(options.serviceAccountMaxTokenExpiration > 0
              ? { maxTokenExpirationSeconds: Math.floor(options.serviceAccountMaxTokenExpiration / 1000) }
              : {}),
          },
          {
            authorizer: authorization.reviews,
            rules: authorization.rules,
            tokens: authentication.tokens,
            serviceAccountTokens: authentication.serviceAccountTokens,
            serviceAccounts: authentication.serviceAccounts,
          },
        ),
        // The owner of a logical cluster on another shard learns with its create what became of it.
        outcomes: new Map([
          [
            `${logicalClusters.group}/${logicalClusters.resource}`,
            async ({ cluster }, ms, signal) => (await modules.waits.until(cluster, hasBegun, ms, signal)) !== undefined,
          ],
        ]),
        hub: new WatchHub({}, { clock }),
        clock,
        random: Math.random,
        connectKind: () => tokenRequestKind,
      },
    ),
    discovery: discoveryHandler({}, { resolver }),
    openapi: openapiHandler({ version: version.gitVersion }, { resolver, clock }),
    outer: outerApplication({
      health: modules.health,
      registry: modules.registry,
      metrics,
      logger,
      version,
      issuer: {
        openIdConfiguration: () =>
          authentication.serviceAccountTokens.discoveryDocument(`${modules.externalUrl()}/openid/v1/jwks`),
        jwks: () => keySet,
      },
    }),
  };
  return {
    shard: (authenticator = authentication.requests) =>
      buildHandlerChain(chainOptions, { ...chainModules, authenticator }),
    other: (own, endpoints) => buildChain(chainOptions, { ...chainModules, ...own }, endpoints),
  };
}
