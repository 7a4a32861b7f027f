import type { OptionTable } from '@multiplane/component-base';

/** Flags of authorization (C7.7; names: C12.8). */
export const authorizationOptionTable = {
  'authorization-always-allow-paths': {
    type: 'list',
    default: ['/healthz', '/readyz', '/livez'],
    description: 'Paths that everybody may get.',
  },
  'authorization-order': {
    type: 'list',
    default: ['AlwaysAllowGroups', 'AlwaysAllowPaths', 'RBAC', 'Webhook'],
    description: 'Who is asked whether something is allowed, in this order; the first who knows decides.',
  },
  'authorization-webhook-config-file': { type: 'text', description: 'Kubeconfig of the authorization webhook.' },
  'authorization-webhook-version': {
    type: 'text',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    description: 'Version of the SubjectAccessReview it is sent.',
  },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    default: '5m',
    description: 'How long it is remembered what the webhook allows.',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    default: '30s',
    description: 'How long it is remembered what the webhook does not allow.',
  },
} as const satisfies OptionTable;

const known: ReadonlySet<string> = new Set(authorizationOptionTable['authorization-order'].default);

/** The first name of the order that stands for nobody. */
export const invalidAuthorizer = (order: readonly string[]): string | undefined =>
  order.find((name) => !known.has(name));
