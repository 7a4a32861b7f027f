import { AddressPolicy } from '@multiplane/apiserver';
import { OptionError, type OptionTable } from '@multiplane/component-base';

/** What webhooks that tenants name may reach: conversion, admission. */
export const webhooks = {
  'webhook-allowed-networks': {
    type: 'list',
    default: [],
    description:
      'Networks (10.1.0.0/16) whose webhooks are called although their addresses are not public; public ones always are.',
  },
  'webhook-denied-networks': {
    type: 'list',
    default: [],
    description: 'Networks whose webhooks are never called; wins over what is allowed.',
  },
} as const satisfies OptionTable;

/** Which addresses webhooks may have. Throws OptionError. */
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
