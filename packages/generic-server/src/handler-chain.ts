import { systemClock, type Clock, type Logger } from '@multiplane/component-base';
import type { Draining } from './draining.ts';
import { withAudit, withFailedAuthenticationAudit, type AuditModules } from './filters/audit.ts';
import { withAuthentication, type AuthenticationModules } from './filters/authentication.ts';
import { withAuthorization, type AuthorizationModules } from './filters/authorization.ts';
import { withCacheControl } from './filters/cache-control.ts';
import { withCors } from './filters/cors.ts';
import { withDeadline } from './filters/deadline.ts';
import { withDraining } from './filters/draining.ts';
import { withMaxInFlight } from './filters/max-in-flight.ts';
import { withResourceIdentity } from './filters/resource-identity.ts';
import { withShardLevelPaths } from './filters/shard-level-paths.ts';
import { withWildcardGuard } from './filters/wildcard-guard.ts';
import type { Filter, Handler } from './request-context.ts';
import { RequestEdge, type RequestEdgeModules } from './request-edge.ts';
import { routeRequests, type RoutingModules } from './request-router.ts';
import type { EdgeExchange } from './server/dispatched-exchange.ts';
import type { ServerRequestContext } from './server-request-context.ts';

export interface HandlerChainOptions {
  /** `--request-timeout`. */
  readonly requestTimeoutMs: number;
  /** `--max-requests-inflight`. */
  readonly maxReadOnly: number;
  /** `--max-mutating-requests-inflight`. */
  readonly maxMutating: number;
  /** `--cors-allowed-origins`. */
  readonly corsAllowedOrigins: readonly RegExp[];
}

export const defaultHandlerChainOptions: HandlerChainOptions = {
  requestTimeoutMs: 60_000,
  maxReadOnly: 400,
  maxMutating: 200,
  corsAllowedOrigins: [],
};

/** What every server's chain is made of, whatever it serves. */
export interface ChainModules extends Omit<RequestEdgeModules, 'clock'>, AuthenticationModules, AuthorizationModules {
  readonly clock?: Clock | undefined;
  readonly logger: Logger;
  readonly draining: Draining;
  /** `withImpersonation` of `filters/impersonation.ts`, or a server's own. */
  readonly impersonation: Filter;
  /** Tells of requests (K9.3); absent: nobody is told. */
  readonly audit?: AuditModules | undefined;
  /** Stages a server adds before it asks who is there, outermost first. */
  readonly beforeAuthentication?: readonly Filter[] | undefined;
  /** Stages a server adds between impersonation and authorization, outermost first. */
  readonly beforeAuthorization?: readonly Filter[] | undefined;
  /** Stages a server adds between authentication and impersonation (kcp's gatekeeper), outermost first. */
  readonly afterAuthentication?: readonly Filter[] | undefined;
}

export type HandlerChainModules = ChainModules & RoutingModules;

type Stage = (next: StageHandler) => StageHandler;
type StageHandler = (context: ServerRequestContext) => Promise<void>;

/** The way of a request, outermost stage first (K1.3, C1.5). The result answers every exchange and never rejects. */
export function buildHandlerChain(
  options: HandlerChainOptions,
  modules: HandlerChainModules,
): (exchange: EdgeExchange) => Promise<void> {
  return buildChain(options, modules, withResourceIdentity(withWildcardGuard(routeRequests(modules) as Handler)));
}

/** The same chain before endpoints of another kind. */
export function buildChain(
  options: HandlerChainOptions,
  modules: ChainModules,
  endpoints: Handler,
): (exchange: EdgeExchange) => Promise<void> {
  const clock = modules.clock ?? systemClock;
  const stages: readonly Stage[] = [
    withDraining(modules.draining),
    withShardLevelPaths,
    ...(modules.beforeAuthentication ?? []),
    withCacheControl,
    withDeadline(options, { clock, metrics: modules.metrics }),
    withCors(options.corsAllowedOrigins),
    ...(modules.audit === undefined ? [] : [withFailedAuthenticationAudit(modules.audit)]),
    withAuthentication(modules),
    ...(modules.audit === undefined ? [] : [withAudit(modules.audit)]),
    ...(modules.afterAuthentication ?? []),
    modules.impersonation,
    withMaxInFlight(options, modules.metrics),
    ...(modules.beforeAuthorization ?? []),
    withAuthorization(modules),
  ] as readonly Stage[];
  const handler = stages.reduceRight<StageHandler>((next, stage) => stage(next), endpoints);
  return new RequestEdge({ ...modules, clock }, handler).handle;
}
