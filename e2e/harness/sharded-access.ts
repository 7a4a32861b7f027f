import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientConfigOf, readKubeconfig, RestTransport, type ClientConfig } from '@multiplane/client';
import { topology, urlsOf, type Place } from '../../packages/multiplane/src/topology/index.ts';
import type { ContextName, ControlPlane } from './control-plane.ts';
import { testTokens } from './local-cluster.ts';

export const adminToken = 'kcp-admin-token';

/** Addresses, files and credentials of a sharded control plane, whichever process has started it. */
export class ShardedAccess implements Omit<ControlPlane, keyof AsyncDisposable> {
  readonly #directory: string;
  readonly #place: Place;
  constructor(directory: string, place: Place) {
    this.#directory = directory;
    this.#place = place;
  }

  get shards(): readonly string[] {
    return this.#place.shards;
  }
  get url(): string {
    return this.#place.externalUrl;
  }
  get port(): number {
    return topology(this.#place).find(({ name }) => name === 'front-proxy')?.port as number;
  }
  get kubeconfig(): string {
    return this.path('pki', 'admin.kubeconfig');
  }
  get ca(): string {
    return readFileSync(this.path('pki', 'serving-ca.crt'), 'utf8');
  }
  get adminToken(): string {
    return adminToken;
  }
  log(): string {
    const names = topology(this.#place).flatMap(({ name, program }) => (program === 'multiplane' ? [name] : []));
    return names.map((name) => readFileSync(this.path(`${name}.log`), 'utf8')).join('');
  }
  path(...parts: string[]): string {
    return join(this.#directory, ...parts);
  }

  config(context: ContextName): ClientConfig {
    if (context === 'root' || context === 'base')
      return clientConfigOf(readKubeconfig(this.kubeconfig), this.kubeconfig, context);
    return { server: this.url, ca: this.ca, token: testTokens.masters };
  }

  transport(as: ContextName | { readonly token: string }): RestTransport {
    const config = typeof as === 'string' ? this.config(as) : { server: this.url, ca: this.ca, token: as.token };
    return new RestTransport({ config, userAgent: 'multiplane-e2e' });
  }

  /** To one shard itself, with every right. */
  shardTransport(shard: string): RestTransport {
    const file = this.path('pki', `shard-${shard}.kubeconfig`);
    return new RestTransport({
      config: clientConfigOf(readKubeconfig(file), file, 'shard-base'),
      userAgent: 'multiplane-e2e',
    });
  }

  get rootShard(): Pick<ControlPlane, 'url' | 'ca'> {
    return { url: urlsOf(this.#place).shards['root'] as string, ca: this.ca };
  }

  shardTransports(): RestTransport[] {
    return this.shards.map((shard) => this.shardTransport(shard));
  }
}
