import type { WebhookClientConfig } from '@multiplane/apis';
import { WebhookCallError } from './webhook-client.ts';

/**
 * The URL of a webhook with the time it is given, as messages show it (K6.5). A service is a name in the cluster that
 * hosts the server, not in the workspace: a tenant who could name one would reach what is not its own, so none is
 * found. Throws {@link WebhookCallError}.
 */
export function webhookUrl({ url, service }: WebhookClientConfig, timeoutSeconds: number): string {
  if (service !== undefined) {
    const host = `${service.name}.${service.namespace}.svc`;
    const path = service.path === '' ? '/' : service.path;
    throw new WebhookCallError(
      `Post "https://${host}:${service.port}${path}?timeout=${timeoutSeconds}s": dial tcp: lookup ${host}: no such host`,
    );
  }
  const target = new URL(url ?? '');
  target.search = `?timeout=${timeoutSeconds}s`;
  // Go prints a URL without a path without a slash.
  const path = (url ?? '').replace(/^[a-z]+:\/\/[^/?#]*/i, '') === '' ? '' : target.pathname;
  return `${target.protocol}//${target.host}${path}${target.search}`;
}
