import type { Json } from '@multiplane/apimachinery';
import { numberAt, objectAt, textAt } from './fields.ts';

/** Where a webhook is called (`clientConfig`). Exactly one of `url` and `service` is there. */
export interface WebhookClientConfig {
  readonly url: string | undefined;
  readonly service:
    | { readonly name: string; readonly namespace: string; readonly path: string; readonly port: number }
    | undefined;
  /** PEM; absent: the usual authorities. */
  readonly caBundle: string | undefined;
}

export function webhookClientConfig(config: Json | undefined): WebhookClientConfig {
  const service = objectAt(config, 'service');
  const bundle = textAt(config, 'caBundle');
  return {
    url: service === undefined ? textAt(config, 'url') : undefined,
    service:
      service === undefined
        ? undefined
        : {
            name: textAt(service, 'name'),
            namespace: textAt(service, 'namespace'),
            path: textAt(service, 'path'),
            port: Number(numberAt(service, 'port') ?? 443),
          },
    caBundle: bundle === '' ? undefined : Buffer.from(bundle, 'base64').toString('utf8'),
  };
}
