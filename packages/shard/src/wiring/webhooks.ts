import { randomUUID } from 'node:crypto';
import { ConversionReviewer, type DecodedObjects, ObjectConversions } from '@multiplane/apiserver';
import type { Clock, Runnable } from '@multiplane/component-base';
import { WebhookClient, webhookPolicy } from '@multiplane/generic-server';
import type { ShardOptions } from '../options.ts';

/** Bytes of cached conversion results. */
const convertedBytes = 32 * 1024 * 1024;

export interface Webhooks {
  /** Client for the webhooks of tenants; it enforces the address policy. */
  readonly client: WebhookClient;
  readonly conversions: ObjectConversions;
  readonly runnable: Runnable;
}

/** The client for tenants' webhooks, and conversion through them. */
export function shardWebhooks(
  options: Pick<ShardOptions, 'webhookAllowedNetworks' | 'webhookDeniedNetworks'>,
  { decoded, clock }: { readonly decoded: DecodedObjects; readonly clock: Clock },
): Webhooks {
  const client = new WebhookClient({}, { policy: webhookPolicy(options), clock });
  const reviewer = new ConversionReviewer({ client, newUid: () => randomUUID() });
  return {
    client,
    conversions: new ObjectConversions({ maxBytes: convertedBytes }, { decoded, reviewer }),
    runnable: {
      name: 'webhooks',
      start: () => Promise.resolve(),
      stop: async () => client.close(),
    },
  };
}
