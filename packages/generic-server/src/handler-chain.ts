import { eventLoopScheduler, systemClock, type Clock, type Logger, type Tracer } from '@multiplane/component-base';
import type { Draining } from './lifecycle/draining.ts';
import { defaultReauthorizerOptions, Reauthorizer } from './lifecycle/reauthorizer.ts';
import { withAudit, withFailedAuthenticationAudit, type AuditModules } from './filters/audit.ts';
import { withAuthentication, type AuthenticationModules } from './filters/authentication.ts';
import { withAuthorization, type AuthorizationModules } from './filters/authorization.ts';
import { withCacheControl } from './filters/cache-control.ts';
import { withCors } from './filters/cors.ts';
import { withDeadline } from './filters/deadline.ts';
import { withDraining } from './filters/draining.ts';
import { withFlowControl } from './filters/flow-control.ts';
import { FlowController } from './flow-control/flow-controller.ts';
import { minimalFlowControl } from './flow-control/minimal-configuration.ts';
import { withTracing } from './filters/tracing.ts';
import { withShardLevelPaths } from './filters/shard-level-paths.ts';
import type { Filter, Handler } from './request/request-context.ts';
import { RequestLifecycle, type RequestLifecycleModules } from './request/request-lifecycle.ts';
import type { ServerExchange } from './server/dispatched-exchange.ts';
import type { ServerRequestContext } from './request/server-request-context.ts';

export interface HandlerChainOptions {
  /** `--request-timeout`. */
  readonly requestTimeoutMs: number;
  /** `--max-requests-inflight`. Its sum with `maxMutating` is the number of seats of priority and fairness. */
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

/** The parts of a handler chain that do not depend on its endpoints. */
export interface ChainModules
  extends Omit<RequestLifecycleModules, 'clock' | 'reauthorizer'>, AuthenticationModules, AuthorizationModules {
  readonly clock?: Clock | undefined;
  readonly logger: Logger;
  readonly draining: Draining;
  /** Absent: one of this chain, which learns of removed permissions at its next round only. */
  readonly reauthorizer?: Reauthorizer | undefined;
  /** Absent: all callers share the seats of this chain, each as a flow of its own. */
  readonly flowControl?: FlowController | undefined;
  /** The endpoints call `watchInitialized` of the context; default false. */
  readonly watchesSignal?: boolean | undefined;
  /** `withImpersonation` or a replacement. */
  readonly impersonation: Filter;
  /** Absent: requests are not audited. */
  readonly audit?: AuditModules | undefined;
  /** Absent: requests are not traced. */
  readonly tracer?: Tracer | undefined;
  /** The endpoints answer for paths of the server below a logical cluster, so authorization comes first; default false. */
  readonly authorizesShardLevelPaths?: boolean | undefined;
  /** Additional stages before authentication, outermost first. */
  readonly beforeAuthentication?: readonly Filter[] | undefined;
  /** Additional stages between impersonation and authorization, outermost first. */
  readonly beforeAuthorization?: readonly Filter[] | undefined;
  /** Additional stages between authentication and impersonation, outermost first. */
  readonly afterAuthentication?: readonly Filter[] | undefined;
}

type Stage = (next: StageHandler) => StageHandler;
type StageHandler = (context: ServerRequestContext) => Promise<void>;

/** Builds the handler chain in front of `endpoints`, outermost stage first. The result responds to every exchange and never rejects. */
export function buildChain(
  options: HandlerChainOptions,
  modules: ChainModules,
  endpoints: Handler,
): (exchange: ServerExchange) => Promise<void> {
  const clock = modules.clock ?? systemClock;
  const stages: readonly Stage[] = [
    withDraining(modules.draining),
    ...(modules.authorizesShardLevelPaths === true ? [] : [withShardLevelPaths]),
    ...(modules.beforeAuthentication ?? []),
    withCacheControl,
    withDeadline(options, { clock, metrics: modules.metrics }),
    withCors(options.corsAllowedOrigins),
    ...(modules.audit === undefined ? [] : [withFailedAuthenticationAudit(modules.audit)]),
    withAuthentication(modules),
    ...(modules.tracer === undefined
      ? []
      : [withTracing({ tracer: modules.tracer, authenticator: modules.authenticator })]),
    ...(modules.audit === undefined ? [] : [withAudit(modules.audit)]),
    ...(modules.afterAuthentication ?? []),
    modules.impersonation,
    withFlowControl(
      { watchesSignal: modules.watchesSignal ?? false },
      { controller: modules.flowControl ?? ownFlowControl(options, clock), metrics: modules.metrics },
    ),
    ...(modules.beforeAuthorization ?? []),
    withAuthorization(modules),
  ] as readonly Stage[];
  const handler = stages.reduceRight<StageHandler>((next, stage) => stage(next), endpoints);
  const reauthorizer = modules.reauthorizer ?? new Reauthorizer(defaultReauthorizerOptions, { clock });
  return new RequestLifecycle({ ...modules, clock, reauthorizer }, handler).handle;
}

function ownFlowControl(
  { maxReadOnly, maxMutating, requestTimeoutMs }: HandlerChainOptions,
  clock: Clock,
): FlowController {
  return new FlowController(
    { seats: maxReadOnly + maxMutating, waitLimitMs: waitLimitMs(requestTimeoutMs), cluster: '' },
    { clock, scheduler: eventLoopScheduler, random: Math.random },
    minimalFlowControl,
  );
}

/** How long a request may wait for a seat: a quarter of its deadline, but at most a minute, as in kube-apiserver. */
export const waitLimitMs = (requestTimeoutMs: number): number => Math.min(requestTimeoutMs / 4, 60_000);
