import {
  durationBuckets,
  type Counter,
  type CounterSeries,
  type HistogramSeries,
  type MetricsRegistry,
} from '@multiplane/component-base';
import { tlsErrorOf, type UpstreamError } from '@multiplane/reverse-proxy';
import type { WorkspaceIndex } from './index/workspace-index.ts';

const maxShards = 256;
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** What the front-proxy counts. Labels name shards, never what tenants make. */
export class ProxyMetrics {
  readonly #requests: Counter<'method' | 'code'>;
  readonly #series = new Map<string, CounterSeries>();
  readonly #duration: HistogramSeries;
  readonly #failures: Counter<'shard' | 'failure'>;
  readonly #tlsErrors: Counter<'shard' | 'error_type'>;
  readonly #collect: () => void;
  readonly handshakeErrors: CounterSeries;
  /** Watches and the like under way. */
  longRunning = 0;

  constructor(registry: MetricsRegistry, { index }: { readonly index: WorkspaceIndex }) {
    this.#requests = registry.counter({
      name: 'multiplane_proxy_requests_total',
      help: 'Requests by method and by the status of their answers.',
      labels: { method: methods, code: 48 },
    });
    this.#duration = registry
      .histogram({
        name: 'multiplane_proxy_request_duration_seconds',
        help: 'Time from the headers of a request to the end of its answer, watches left out.',
        buckets: durationBuckets,
      })
      .series();
    this.#failures = registry.counter({
      name: 'multiplane_proxy_upstream_failures_total',
      help: 'Requests that the server behind did not answer.',
      labels: {
        shard: maxShards,
        failure: ['unreachable', 'unanswered', 'overloaded', 'loop', 'redirect', 'tls', 'malformed'],
      },
    });
    this.#tlsErrors = registry.counter({
      name: 'kcp_listener_tls_connection_error',
      help: 'Connections to servers behind that failed in TLS.',
      labels: {
        shard: maxShards,
        error_type: ['unknown_ca', 'expired_cert', 'cipher_mismatch', 'hostname_mismatch', 'other'],
      },
    });
    this.handshakeErrors = registry
      .counter({ name: 'multiplane_proxy_tls_handshake_errors_total', help: 'TLS handshakes of clients that failed.' })
      .series();
    const longRunning = registry.gauge({
      name: 'multiplane_proxy_long_running_requests',
      help: 'Watches and upgraded connections that are being passed on.',
    });
    const indexed = registry.gauge({
      name: 'kcp_indexed_logicalclusters',
      help: 'Logical clusters that the index knows, by shard.',
      labels: { shard: maxShards },
    });
    let known: string[] = [];
    this.#collect = () => {
      longRunning.set(this.longRunning);
      const shards = index.shardNames;
      for (const shard of known) if (!shards.includes(shard)) indexed.set(0, { shard });
      for (const shard of shards) indexed.set(index.clusterCount(shard), { shard });
      known = shards;
    };
  }

  /** To be called before the registry is rendered. */
  collect(): void {
    this.#collect();
  }

  finished(method: string, status: number, milliseconds: number | undefined): void {
    const key = `${method} ${status}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = this.#requests.series({ method, code: String(status) });
      // Methods and codes come from outside.
      if (this.#series.size < 512) this.#series.set(key, series);
    }
    series.add(1);
    if (milliseconds !== undefined) this.#duration.observe(milliseconds / 1000);
  }

  failed(shard: string, error: UpstreamError): void {
    this.#failures.add(1, { shard, failure: error.failure });
    const tlsError = tlsErrorOf(error.cause);
    if (tlsError !== undefined) this.#tlsErrors.add(1, { shard, error_type: tlsError });
  }
}
