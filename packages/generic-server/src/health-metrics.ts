import {
  addProcessStartTime,
  healthEndpoints,
  MetricsRegistry,
  type CheckResult,
  type Counter,
  type Gauge,
  type HealthEndpoint,
} from '@multiplane/component-base';

/** More names of checks than any server has; those beyond are `other`. */
const maxNames = 48;
const labels = { name: maxNames, type: healthEndpoints.length };

/**
 * The service level indicators at `/metrics/slis` (KEP-3466): the last result of each health check, and how often it
 * passed and failed, per endpoint that was asked for all of its checks; and the start of the process. They have a registry of their own, because monitoring
 * reads them more often than the other metrics.
 */
export class HealthMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #last: Gauge<'name' | 'type'> = this.#registry.gauge({
    name: 'kubernetes_healthcheck',
    help: '[STABLE] Last result of a health check: 1 passed, 0 failed.',
    labels,
  });
  readonly #total: Counter<'name' | 'type' | 'status'> = this.#registry.counter({
    name: 'kubernetes_healthchecks_total',
    help: '[STABLE] Results of health checks.',
    labels: { ...labels, status: 2 },
  });

  constructor() {
    addProcessStartTime(this.#registry);
  }

  observe(type: HealthEndpoint, results: readonly CheckResult[]): void {
    for (const { name, error } of results) {
      this.#last.set(error === undefined ? 1 : 0, { name, type });
      this.#total.add(1, { name, type, status: error === undefined ? 'success' : 'error' });
    }
  }

  /** In Prometheus' text format. */
  render(): Promise<string> {
    return this.#registry.render();
  }

  reset(): void {
    this.#registry.reset();
  }
}
