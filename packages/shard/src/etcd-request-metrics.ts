import type { MetricsRegistry } from '@multiplane/component-base';
import type { EtcdClientModules, EtcdOperation } from '@multiplane/storage/etcd';

/** Beside them `other`, which every label has. */
const operations: readonly EtcdOperation[] = ['get', 'list', 'create', 'update', 'delete'];
/** Around what etcd needs: a commit takes milliseconds, a request fails after ten seconds. */
const buckets = [0.005, 0.025, 0.1, 0.4, 1, 5];

/**
 * kube-apiserver's metrics `etcd_*` of requests, by operation. Other than there not by group and resource, which tenants
 * define: each set of labels of the histogram has nine series (docs/adr/0122-series-bounded-by-construction.md).
 */
export function etcdRequestMetrics(registry: MetricsRegistry): NonNullable<EtcdClientModules['onRequest']> {
  const labels = { operation: operations };
  const duration = registry.histogram({
    name: 'etcd_request_duration_seconds',
    help: 'Time of requests to etcd, retries of reads included.',
    labels,
    buckets,
  });
  const total = registry.counter({ name: 'etcd_requests_total', help: 'Requests to etcd.', labels });
  const errors = registry.counter({
    name: 'etcd_request_errors_total',
    help: 'Requests that etcd did not answer, or refused.',
    labels,
  });
  const series = new Map(
    [...operations, 'other' as const].map((operation) => [
      operation,
      {
        duration: duration.series({ operation }),
        total: total.series({ operation }),
        errors: errors.series({ operation }),
      },
    ]),
  );
  return (operation, seconds, failed) => {
    const own = series.get(operation);
    own?.duration.observe(seconds);
    own?.total.add(1);
    if (failed) own?.errors.add(1);
  };
}
