import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientConfigOf, readKubeconfig, RestTransport, type ClientConfig } from '@multiplane/client';
import type { ContextName, ControlPlane } from './control-plane.ts';

/** Where a control plane of one process is: enough for another process to use it. */
export interface LocalRecord {
  readonly directory: string;
  readonly port: number;
}

/** Addresses, files and credentials of a control plane of one process, whichever process has started it. */
export class LocalAccess implements Omit<ControlPlane, keyof AsyncDisposable> {
  readonly record: LocalRecord;
  constructor(record: LocalRecord) {
    this.record = record;
  }

  get port(): number {
    return this.record.port;
  }
  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }
  get kubeconfig(): string {
    return this.path('root', 'admin.kubeconfig');
  }
  get ca(): string {
    return readFileSync(this.path('root', 'ca.crt'), 'utf8');
  }
  get adminToken(): string {
    return this.config('root').token as string;
  }
  path(...parts: string[]): string {
    return join(this.record.directory, ...parts);
  }
  log(): string {
    return readFileSync(this.path('server.log'), 'utf8');
  }

  /** Settings of a context of the admin kubeconfig. */
  config(context: ContextName): ClientConfig {
    return clientConfigOf(readKubeconfig(this.kubeconfig), this.kubeconfig, context);
  }

  /** Requests as the user of a context, or with a token of the token file. */
  /** Throws while it does not answer that it is ready. */
  async ready(as: ContextName): Promise<void> {
    const transport = this.transport(as);
    try {
      const response = await transport.open({ method: 'GET', path: '/readyz' });
      response.resume();
      if (response.statusCode !== 200) throw new Error(`/readyz answered ${response.statusCode}`);
    } finally {
      transport.close();
    }
  }

  transport(as: ContextName | { readonly token: string }): RestTransport {
    const config = typeof as === 'string' ? this.config(as) : { server: this.url, ca: this.ca, token: as.token };
    return new RestTransport({ config, userAgent: 'multiplane-e2e' });
  }

  get rootShard(): Pick<ControlPlane, 'url' | 'ca'> {
    return this;
  }
  shardTransports(): RestTransport[] {
    return [this.transport('shard-base')];
  }
}
