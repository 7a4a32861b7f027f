import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  type HealthChecks,
  type MetricsRegistry,
} from '@multiplane/component-base';

/** `/livez`, `/readyz`, `/healthz` and `/metrics` over plain HTTP, for probes and Prometheus. */
export class HealthServer {
  readonly #modules: { readonly health: HealthChecks; readonly registry: MetricsRegistry };
  readonly #server: Server;

  constructor(modules: { readonly health: HealthChecks; readonly registry: MetricsRegistry }) {
    this.#modules = modules;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** Rejects when the address is in use. */
  async start({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { health, registry } = this.#modules;
    const url = new URL(request.url ?? '/', 'http://localhost');
    const asked = parseHealthRequest(url.pathname, url.searchParams);
    if (asked !== undefined) {
      const { status, headers, body } = await renderHealth(health, asked);
      response.writeHead(status, headers).end(body);
    } else if (url.pathname === '/metrics') {
      response.writeHead(200, { 'content-type': metricsContentType }).end(await registry.render());
    } else {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
    }
  }
}
