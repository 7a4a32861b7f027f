import {
  type Counter,
  type CounterSeries,
  type Histogram,
  type HistogramSeries,
  type MetricsRegistry,
} from '@multiplane/component-base';
import { tlsErrorOf, type RelayedBytes, type UpstreamError } from '@multiplane/reverse-proxy';
import type { WorkspaceIndex } from './index/workspace-index.ts';

/** Combinations of label values; each is a series. */
const maxShards = 256;
const maxSets = 192;
const maxShardSets = 64;
/** kcp's, and two finer ones. */
const latencyBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Metrics of the front-proxy, those of kcp by its names (`pkg/proxy/metrics`). Labels name shards, but no workspaces, users or objects. */
export class ProxyMetrics {
  readonly #requests: Counter<'method' | 'code'>;
  readonly #series = new Map<string, { readonly requests: CounterSeries; readonly latency: HistogramSeries }>();
  readonly #latency: Histogram<'method' | 'code'>;
  readonly #requestBytes: Counter<'shard'>;
  readonly #responseBytes: Counter<'shard'>;
  readonly #relayed = new Map<string, (bytes: RelayedBytes) => void>();
  readonly #failures: Counter<'shard' | 'failure'>;
  readonly #tlsErrors: Counter<'shard' | 'error_type'>;
  readonly #collect: () => void;
  readonly handshakeErrors: CounterSeries;
  /** Running watches and upgraded connections. */
  longRunning = 0;

  constructor(registry: MetricsRegistry, { index }: { readonly index: WorkspaceIndex }) {
    this.#requests = registry.counter({
      name: 'multiplane_proxy_requests_total',
      help: 'Requests by method and response code.',
      labels: { method: methods, code: 48 },
      maxLabelSets: maxSets,
    });
    this.#latency = registry.histogram({
      name: 'proxy_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its response, without watches.',
      labels: { method: methods, code: 48 },
      buckets: latencyBuckets,
      maxLabelSets: 16,
    });
    this.#requestBytes = registry.counter({
      name: 'kcp_backend_rq_body_bytes',
      help: 'Bytes of request bodies that were sent on to shards.',
      labels: { shard: maxShards },
      maxLabelSets: maxShardSets,
    });
    this.#responseBytes = registry.counter({
      name: 'kcp_backend_rs_body_bytes',
      help: 'Bytes of response bodies from shards.',
      labels: { shard: maxShards },
      maxLabelSets: maxShardSets,
    });
    this.#failures = registry.counter({
      name: 'multiplane_proxy_upstream_failures_total',
      help: 'Requests that failed because of the upstream server.',
      labels: {
        shard: maxShards,
        failure: ['unreachable', 'unanswered', 'overloaded', 'loop', 'redirect', 'tls', 'malformed'],
      },
      maxLabelSets: maxSets,
    });
    this.#tlsErrors = registry.counter({
      name: 'kcp_listener_tls_connection_error',
      help: 'Connections to upstream servers that failed in TLS.',
      labels: {
        shard: maxShards,
        error_type: ['unknown_ca', 'expired_cert', 'cipher_mismatch', 'hostname_mismatch', 'other'],
      },
      maxLabelSets: maxSets,
    });
    this.handshakeErrors = registry
      .counter({ name: 'multiplane_proxy_tls_handshake_errors_total', help: 'Failed TLS handshakes of clients.' })
      .series();
    const longRunning = registry.gauge({
      name: 'multiplane_proxy_long_running_requests',
      help: 'Running watches and upgraded connections.',
    });
    const indexed = registry.gauge({
      name: 'kcp_indexed_logicalclusters',
      help: 'Indexed logical clusters by shard.',
      labels: { shard: maxShards },
    });
    let previous: string[] = [];
    this.#collect = () => {
      longRunning.set(this.longRunning);
      const shards = index.shardNames;
      for (const shard of previous) if (!shards.includes(shard)) indexed.set(0, { shard });
      for (const shard of shards) indexed.set(index.clusterCount(shard), { shard });
      previous = shards;
    };
  }

  /** Updates gauges. To be called before the registry is rendered. */
  collect(): void {
    this.#collect();
  }

  /** `milliseconds`: of requests that are no watches. */
  finished(method: string, status: number, milliseconds: number | undefined): void {
    const key = `${method} ${status}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = { method, code: String(status) };
      series = { requests: this.#requests.series(labels), latency: this.#latency.series(labels) };
      // Limited, because clients choose the method.
      if (this.#series.size < 512) this.#series.set(key, series);
    }
    series.requests.add(1);
    if (milliseconds !== undefined) series.latency.observe(milliseconds / 1000);
  }

  /** Counts the bytes of bodies of requests to a shard. */
  relayedTo(shard: string): (bytes: RelayedBytes) => void {
    let count = this.#relayed.get(shard);
    if (count === undefined) {
      const [sent, received] = [this.#requestBytes.series({ shard }), this.#responseBytes.series({ shard })];
      count = ({ request, response }) => {
        if (request > 0) sent.add(request);
        if (response > 0) received.add(response);
      };
      if (this.#relayed.size < maxShards) this.#relayed.set(shard, count);
    }
    return count;
  }

  failed(shard: string, error: UpstreamError): void {
    this.#failures.add(1, { shard, failure: error.failure });
    const tlsError = tlsErrorOf(error.cause);
    if (tlsError !== undefined) this.#tlsErrors.add(1, { shard, error_type: tlsError });
  }
}
