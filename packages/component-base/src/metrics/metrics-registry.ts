import type * as PromClient from 'prom-client';
import { lazyLibrary } from '../loading/lazy-library.ts';
import { SeriesCounter, SeriesHistogram, type CounterSeries, type HistogramSeries } from './series.ts';

/** Loaded by the first registry: commands that only read a kubeconfig start without it. */
const loadPromClient = lazyLibrary<typeof PromClient>(import.meta.url, 'prom-client');

/** Label names with their values, or with the maximum number of values; further values are counted as `other`. */
export type Labels<L extends string> = Readonly<Record<L, number | readonly string[]>>;

export interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Bounded, because a registry renders synchronously: a label that grows with tenants would block the event loop. */
  readonly labels?: Labels<L> | undefined;
}

export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Upper bounds; {@link durationBuckets} for seconds. */
  readonly buckets: readonly number[];
}

export interface GaugeOptions<L extends string> extends MetricOptions<L> {
  /** Read at every scrape instead of being set. Only without labels. */
  readonly read?: (() => number) | undefined;
  /** The same for a gauge with labels; series that it does not return are dropped. */
  readonly readAll?: (() => Iterable<readonly [labels: Values<L>, value: number]>) | undefined;
}

type Values<L extends string> = Readonly<Record<L, string>>;
/** The argument is omitted exactly when there are no labels. */
type LabelArgs<L extends string> = [L] extends [never] ? [] : [labels: Values<L>];

export interface Counter<L extends string = never> {
  add(amount: number, ...labels: LabelArgs<L>): void;
  /** One series, for hot paths. */
  series(...labels: LabelArgs<L>): CounterSeries;
}
export interface Gauge<L extends string = never> {
  set(value: number, ...labels: LabelArgs<L>): void;
  add(amount: number, ...labels: LabelArgs<L>): void;
}
export interface Histogram<L extends string = never> {
  observe(value: number, ...labels: LabelArgs<L>): void;
  /** One series, for hot paths. */
  series(...labels: LabelArgs<L>): HistogramSeries;
}

/** The buckets of kube-apiserver's `apiserver_request_duration_seconds`. */
export const durationBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Content type of {@link MetricsRegistry.render}. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

/** Labels that grow with tenants or expose them. */
const forbiddenLabels = new Set([
  'workspace',
  'cluster',
  'logical_cluster',
  'user',
  'username',
  'namespace',
  'path',
  'uid',
]);
const other = 'other';

/** The metrics of one server. The wiring creates it and passes it on; two servers in one process never share one. */
export class MetricsRegistry {
  readonly #client = loadPromClient();
  readonly #registry = new this.#client.Registry();

  counter<L extends string = never>(options: MetricOptions<L>): Counter<L> {
    const counter = new SeriesCounter(seriesOptions(options));
    this.#register(counter);
    return {
      add: (amount, ...[labels]) => counter.series(labels).add(amount),
      series: (...[labels]) => counter.series(labels),
    };
  }

  gauge<L extends string = never>(options: GaugeOptions<L>): Gauge<L> {
    const bound = bounds(options);
    const { read, readAll } = options;
    const gauge = new this.#client.Gauge({
      ...base(options),
      registers: [this.#registry],
      ...(read === undefined
        ? {}
        : {
            collect() {
              this.set(read());
            },
          }),
      ...(readAll === undefined
        ? {}
        : {
            collect() {
              this.reset();
              // Added, not set: several values may have become `other`.
              for (const [labels, value] of readAll()) this.inc(bound(labels), value);
            },
          }),
    });
    return {
      set: (value, ...[labels]) => gauge.set(bound(labels), value),
      add: (amount, ...[labels]) => gauge.inc(bound(labels), amount),
    };
  }

  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L> {
    const histogram = new SeriesHistogram({ ...seriesOptions(options), buckets: options.buckets });
    this.#register(histogram);
    return {
      observe: (value, ...[labels]) => histogram.series(labels).observe(value),
      series: (...[labels]) => histogram.series(labels),
    };
  }

  /** Adds process metrics: memory, CPU, garbage collection, the event loop. Once per process. */
  addProcessMetrics(): void {
    this.#client.collectDefaultMetrics({ register: this.#registry });
  }

  /** All metrics in Prometheus' text format; see {@link metricsContentType}. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The series metrics implement what the registry calls, but do not extend prom-client's classes. */
  #register(metric: SeriesCounter | SeriesHistogram): void {
    this.#registry.registerMetric(metric as unknown as PromClient.Metric);
  }

  /** Resets all metrics, for tests. */
  reset(): void {
    this.#registry.resetMetrics();
  }
}

function base<L extends string>(options: MetricOptions<L>): { name: string; help: string; labelNames: L[] } {
  return { name: options.name, help: options.help, labelNames: Object.keys(options.labels ?? {}) as L[] };
}

function seriesOptions<L extends string>(options: MetricOptions<L>): ConstructorParameters<typeof SeriesCounter>[0] {
  const { name, help, labelNames } = base(options);
  const bound = bounds(options) as (values: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  return { name, help, labelNames, bound };
}

/** Replaces label values beyond their bound with `other`. */
function bounds<L extends string>({ name, labels }: MetricOptions<L>): (values?: Values<L>) => Values<L> {
  const seen = new Map<L, { readonly values: Set<string>; readonly max: number }>();
  for (const [label, bound] of Object.entries(labels ?? {}) as [L, number | readonly string[]][]) {
    if (forbiddenLabels.has(label))
      throw new Error(`metric ${name}: label ${label} is forbidden because it grows with tenants`);
    const values = new Set(typeof bound === 'number' ? [] : bound);
    seen.set(label, { values, max: typeof bound === 'number' ? bound : values.size });
  }
  return (given) => {
    const result = { ...given } as Record<L, string>;
    for (const [label, { values, max }] of seen) {
      const value = result[label];
      if (values.has(value)) continue;
      if (values.size < max) values.add(value);
      else result[label] = other;
    }
    return result;
  };
}
