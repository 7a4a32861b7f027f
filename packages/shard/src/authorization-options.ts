import type { OptionTable } from '@multiplane/component-base';
import { alwaysAllowPathsOptionTable } from '@multiplane/generic-server';

/** Flags of authorization (names as in kcp). */
export const authorizationOptionTable = {
  ...alwaysAllowPathsOptionTable,
  'authorization-order': {
    type: 'list',
    default: ['AlwaysAllowGroups', 'AlwaysAllowPaths', 'RBAC', 'Webhook'],
    description: 'Authorizers in their order; the first that allows or denies a request decides.',
  },
  'authorization-webhook-config-file': { type: 'text', description: 'Kubeconfig of the authorization webhook.' },
  'authorization-webhook-version': {
    type: 'text',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    description: 'Version of the SubjectAccessReview that is sent to the webhook.',
  },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    default: '5m',
    description: 'How long allowed decisions of the webhook are cached.',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    default: '30s',
    description: 'How long other decisions of the webhook are cached.',
  },
} as const satisfies OptionTable;

const known: ReadonlySet<string> = new Set(authorizationOptionTable['authorization-order'].default);

/** The first unknown name in the order. */
export const invalidAuthorizer = (order: readonly string[]): string | undefined =>
  order.find((name) => !known.has(name));
