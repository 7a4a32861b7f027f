import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from './admissionregistration/policies.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from './admissionregistration/webhook-configurations.ts';
import { customResourceDefinitions } from './apiextensions/custom-resource-definition.ts';
import { certificateSigningRequests } from './certificates/certificate-signing-requests.ts';
import { leases } from './coordination/lease.ts';
import { configMaps } from './core/config-map.ts';
import { limitRanges } from './core/limit-range.ts';
import { namespaces } from './core/namespace.ts';
import { resourceQuotas } from './core/resource-quota.ts';
import { secrets } from './core/secret.ts';
import { serviceAccounts } from './core/service-account.ts';
import { coreEvents, events, type EventOptions } from './events/events.ts';
import { flowSchemas, priorityLevelConfigurations } from './flowcontrol/flow-control.ts';
import { kcpResources } from './kcp/kcp-resources.ts';
import { clusterRoleBindings, roleBindings } from './rbac/bindings.ts';
import { clusterRoles, roles } from './rbac/roles.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { authenticationReviews, authorizationReviews } from './reviews/reviews.ts';

/** What can be set for built-in kinds. */
export type BuiltInOptions = Partial<EventOptions>;

const hour = 3600;

const made = new Map<number, readonly ResourceDefinition[]>();

/**
 * Every kind that each logical cluster serves (LimitRange and flow control besides, kcp's own at the end), in
 * the order of Kubernetes' discovery: groups by their priority, resources by name. Made once: definitions hold no
 * state, and callers compare them by identity.
 */
export function builtInResources(options: BuiltInOptions = {}): readonly ResourceDefinition[] {
  const eventTtlSeconds = options.eventTtlSeconds ?? hour;
  let definitions = made.get(eventTtlSeconds);
  if (definitions === undefined) {
    definitions = makeDefinitions({ eventTtlSeconds });
    made.set(eventTtlSeconds, definitions);
  }
  return definitions;
}

function makeDefinitions(eventOptions: EventOptions): readonly ResourceDefinition[] {
  return [
    configMaps(),
    coreEvents(eventOptions),
    limitRanges(),
    namespaces(),
    resourceQuotas(),
    secrets(),
    serviceAccounts(),
    events(eventOptions),
    ...authenticationReviews(),
    ...authorizationReviews(),
    certificateSigningRequests(),
    clusterRoleBindings(),
    clusterRoles(),
    roleBindings(),
    roles(),
    mutatingAdmissionPolicies(),
    mutatingAdmissionPolicyBindings(),
    mutatingWebhookConfigurations(),
    validatingAdmissionPolicies(),
    validatingAdmissionPolicyBindings(),
    validatingWebhookConfigurations(),
    customResourceDefinitions(),
    leases(),
    flowSchemas(),
    priorityLevelConfigurations(),
    ...kcpResources(),
  ];
}
