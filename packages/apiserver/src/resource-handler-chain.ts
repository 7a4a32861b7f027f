import {
  buildChain,
  type ChainModules,
  type ServerExchange,
  type Handler,
  type HandlerChainOptions,
} from '@multiplane/generic-server';
import { withResourceIdentity } from './filters/resource-identity.ts';
import { withWildcardGuard } from './filters/wildcard-guard.ts';
import { routeRequests, type RoutingModules } from './request-router.ts';

export type HandlerChainModules = ChainModules & RoutingModules;

/** The generic handler chain in front of resource endpoints, discovery and OpenAPI. */
export function buildHandlerChain(
  options: HandlerChainOptions,
  modules: HandlerChainModules,
): (exchange: ServerExchange) => Promise<void> {
  return buildChain(options, modules, withResourceIdentity(withWildcardGuard(routeRequests(modules) as Handler)));
}
