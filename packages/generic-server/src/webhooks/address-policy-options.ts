import { OptionError, type OptionTable } from '@multiplane/component-base';
import { AddressPolicy } from './address-policy.ts';

/** Networks that the servers of tenants may use: webhooks (conversion, admission), servers of virtual resources, mounts. */
export const tenantNetworkOptions = {
  'webhook-allowed-networks': {
    type: 'list',
    default: [],
    description:
      'Private networks (10.1.0.0/16) in which webhooks, mounts and servers of virtual resources are called; public addresses are always allowed.',
  },
  'webhook-denied-networks': {
    type: 'list',
    default: [],
    description:
      'Networks in which webhooks, mounts and servers of virtual resources are never called; takes precedence over the allowed ones.',
  },
} as const satisfies OptionTable;

/** The address policy of both flags. Throws OptionError. */
export function webhookPolicy(options: {
  readonly webhookAllowedNetworks: readonly string[];
  readonly webhookDeniedNetworks: readonly string[];
}): AddressPolicy {
  try {
    return new AddressPolicy({ allowed: options.webhookAllowedNetworks, denied: options.webhookDeniedNetworks });
  } catch (cause) {
    throw new OptionError(`--webhook-allowed-networks, --webhook-denied-networks: ${(cause as Error).message}`, {
      cause,
    });
  }
}
