import { durationBuckets, type Counter, type Histogram, type MetricsRegistry } from '@multiplane/component-base';

/** Resources of one provider by name; further ones are counted as `other`. */
const maxResources = 20;

/** Metrics of a provider. No label contains a consumer or an object. */
export class ProviderMetrics {
  readonly #passes: Counter<'resource' | 'result'>;
  readonly #duration: Histogram<'resource'>;
  readonly #objects = new Map<string, () => number>();

  constructor(
    registry: MetricsRegistry,
    read: { readonly isLeader: () => boolean; readonly endpoints: () => { connected: number; failing: number } },
  ) {
    this.#passes = registry.counter({
      name: 'provider_reconcile_total',
      help: 'Passes by resource and result.',
      labels: { resource: maxResources, result: ['success', 'error'] },
    });
    this.#duration = registry.histogram({
      name: 'provider_reconcile_duration_seconds',
      help: 'Duration of passes by resource.',
      labels: { resource: maxResources },
      buckets: durationBuckets,
    });
    registry.gauge({
      name: 'provider_objects',
      help: 'Objects in the cache by resource.',
      labels: { resource: maxResources },
      readAll: () => Array.from(this.#objects, ([resource, count]) => [{ resource }, count()] as const),
    });
    registry.gauge({
      name: 'provider_endpoints',
      help: 'Endpoints by state: all watches connected, or at least one of them failing.',
      labels: { state: ['connected', 'failing'] },
      readAll: () => Object.entries(read.endpoints()).map(([state, count]) => [{ state }, count] as const),
    });
    registry.gauge({
      name: 'provider_leader',
      help: '1 while this process reconciles, 0 while another one does.',
      read: () => (read.isLeader() ? 1 : 0),
    });
  }

  countObjects(resource: string, count: () => number): void {
    this.#objects.set(resource, count);
  }

  async timed<T>(resource: string, pass: () => Promise<T>): Promise<T> {
    const began = performance.now();
    let result = 'error';
    try {
      const value = await pass();
      result = 'success';
      return value;
    } finally {
      this.#passes.add(1, { resource, result });
      this.#duration.observe((performance.now() - began) / 1000, { resource });
    }
  }
}
