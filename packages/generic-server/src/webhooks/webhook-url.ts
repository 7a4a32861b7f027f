import { WebhookCallError } from './webhook-client.ts';

/** The target of a webhook (`clientConfig`). Exactly one of `url` and `service` is set. */
export interface WebhookTarget {
  readonly url: string | undefined;
  readonly service:
    | { readonly name: string; readonly namespace: string; readonly path: string; readonly port: number }
    | undefined;
}

/**
 * The URL of a webhook with the parameter `timeout`, as kube-apiserver sends and prints it. Services are rejected as unknown
 * hosts: they exist in the cluster that hosts the server, not in the workspace, and a tenant must not reach them. Throws
 * {@link WebhookCallError}.
 */
export function webhookUrl({ url, service }: WebhookTarget, timeoutSeconds: number): string {
  if (service !== undefined) {
    const host = `${service.name}.${service.namespace}.svc`;
    const path = service.path === '' ? '/' : service.path;
    throw new WebhookCallError(
      `Post "https://${host}:${service.port}${path}?timeout=${timeoutSeconds}s": dial tcp: lookup ${host}: no such host`,
    );
  }
  const target = new URL(url ?? '');
  target.search = `?timeout=${timeoutSeconds}s`;
  // Like Go, print no slash for a URL without a path.
  const path = (url ?? '').replace(/^[a-z]+:\/\/[^/?#]*/i, '') === '' ? '' : target.pathname;
  return `${target.protocol}//${target.host}${path}${target.search}`;
}
