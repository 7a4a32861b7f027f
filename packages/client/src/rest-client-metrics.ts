import type { Counter, MetricsRegistry } from '@multiplane/component-base';

/** Combinations of code, method and host; beyond three quarters of them code and host become `other`. */
const maxLabelSets = 20;
/** The label of a request without a response, as in client-go. */
const noResponse = '<error>';

/** client-go's metric of the requests that a server sends to other servers of the control plane; a watch counts once. */
export class RestClientMetrics {
  readonly #total: Counter<'code' | 'method' | 'host'>;

  constructor(registry: MetricsRegistry) {
    this.#total = registry.counter({
      name: 'rest_client_requests_total',
      help: 'Requests to other servers by status code, method and host.',
      labels: { code: 16, method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], host: 16 },
      maxLabelSets,
    });
  }

  /** `code`: undefined if no response arrived. `host`: name or address, with the port. */
  finished(method: string, host: string, code: number | undefined): void {
    this.#total.add(1, { code: code === undefined ? noResponse : String(code), method, host });
  }
}
