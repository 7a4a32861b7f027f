import { customResourceDefinitions } from './apiextensions/custom-resource-definition.ts';
import { leases } from './coordination/lease.ts';
import { configMaps } from './core/config-map.ts';
import { namespaces } from './core/namespace.ts';
import { secrets } from './core/secret.ts';
import { serviceAccounts } from './core/service-account.ts';
import { kcpResources } from './kcp/kcp-resources.ts';
import { clusterRoleBindings, roleBindings } from './rbac/bindings.ts';
import { clusterRoles, roles } from './rbac/roles.ts';
import { authenticationReviews, authorizationReviews } from './reviews/reviews.ts';
import type { ResourceDefinition } from './resource-definition.ts';

let definitions: readonly ResourceDefinition[] | undefined;

/**
 * Every built-in kind that each logical cluster serves (C3.1, and LimitRange and flow control besides), in the order
 * of Kubernetes' discovery: groups by their priority, resources by name. Made once per process: definitions hold no
 * state.
 */
export function builtInResources(): readonly ResourceDefinition[] {
  definitions ??= [
    configMaps(),
    namespaces(),
    secrets(),
    serviceAccounts(),
    ...authenticationReviews(),
    ...authorizationReviews(),
    clusterRoleBindings(),
    clusterRoles(),
    roleBindings(),
    roles(),
    customResourceDefinitions(),
    leases(),
    ...kcpResources(),
  ];
  return definitions;
}
