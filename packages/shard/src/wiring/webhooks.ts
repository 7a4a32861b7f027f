import { randomUUID } from 'node:crypto';
import { ConversionReviewer, ObjectConversions, WebhookClient, type DecodedObjects } from '@multiplane/apiserver';
import type { Clock, Runnable } from '@multiplane/component-base';
import type { ShardOptions } from '../options.ts';
import { webhookPolicy } from '../webhook-options.ts';

/** Objects kept in versions that webhooks made of them. */
const convertedBytes = 32 * 1024 * 1024;

export interface Webhooks {
  /** Whatever a tenant's object names is called with this one: it keeps to the policy of addresses. */
  readonly client: WebhookClient;
  readonly conversions: ObjectConversions;
  readonly runnable: Runnable;
}

/** Webhooks that tenants name, and what they are asked for. */
export function shardWebhooks(
  options: Pick<ShardOptions, 'webhookAllowedNetworks' | 'webhookDeniedNetworks'>,
  { decoded, clock }: { readonly decoded: DecodedObjects; readonly clock: Clock },
): Webhooks {
  const client = new WebhookClient({}, { policy: webhookPolicy(options), clock });
  const reviewer = new ConversionReviewer({}, { client, newUid: () => randomUUID() });
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
