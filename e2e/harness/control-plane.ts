import type { ClientConfig, RestTransport } from '@multiplane/client';

/** Contexts of kubeconfigs that every control plane has. */
export type ContextName = 'root' | 'base' | 'system:admin' | 'shard-base';

/**
 * A control plane as its clients see it, whatever it consists of: suites that are written against this run on both
 * topologies.
 */
export interface ControlPlane extends AsyncDisposable {
  /** Where clients send their requests, without a path. */
  readonly url: string;
  readonly port: number;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Verifies the server (PEM). */
  readonly ca: string;
  /** A token of the administrator of that kubeconfig. */
  readonly adminToken: string;
  /** A path in the folder of this control plane. */
  path(...parts: string[]): string;
  /** What the servers have written so far. */
  log(): string;
  config(context: ContextName): ClientConfig;
  /**
   * Requests to {@link url}: `shard-base` and `system:admin` with every right, the others as the administrator, or with a
   * token of the token file.
   */
  transport(as: ContextName | { readonly token: string }): RestTransport;
  /** The root shard itself, without the front-proxy that may stand before it. */
  readonly rootShard: Pick<ControlPlane, 'url' | 'ca'>;
  /** To every shard itself, with every right; for what no front-proxy lets through. */
  shardTransports(): RestTransport[];
}
