import type * as PromClient from 'prom-client';
import { lazyLibrary } from '../loading/lazy-library.ts';
import { boundLabels, maxLabelSets, type Labels } from './label-bounds.ts';
import { SeriesCounter, SeriesHistogram, type CounterSeries, type HistogramSeries } from './series.ts';

/** Loaded by the first registry: commands that only read a kubeconfig start without it. */
const loadPromClient = lazyLibrary<typeof PromClient>(import.meta.url, 'prom-client');

export interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Bounded, because a registry renders synchronously: a label that grows with tenants would block the event loop. */
  readonly labels?: Labels<L> | undefined;
  /** Maximum number of combinations of label values; see {@link boundLabels}. Default: all that `labels` permits. */
  readonly maxLabelSets?: number | undefined;
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

export interface CounterOptions<L extends string> extends MetricOptions<L> {
  /** Read at every scrape instead of being added to; equal labels are summed up. */
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

/**
 * Some of the buckets of kube-apiserver's `apiserver_request_duration_seconds`, among them the limits of its service level
 * objectives (1, 5 and 30 s). A histogram has a series per bucket, and a process at most {@link maxSeries}.
 */
export const durationBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.4, 1, 5, 30, 60];

/** The most series that `/metrics` of one server can have, whatever its tenants do. */
const maxSeries = 1_500;

/** Content type of {@link MetricsRegistry.render}. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

/**
 * The metrics of one server. The wiring creates it and passes it on; two servers in one process never share one.
 *
 * The sum of what all metrics may have at most stays below {@link maxSeries}: registering a metric beyond it throws, so that
 * a server that could exceed the limit does not start.
 */
export class MetricsRegistry {
  #limit = 0;
  readonly #client = loadPromClient();
  readonly #registry = new this.#client.Registry();

  counter<L extends string = never>(options: CounterOptions<L>): Counter<L> {
    this.#reserve(options, 1);
    const { readAll } = options;
    const counter = new SeriesCounter({ ...seriesOptions(options), readAll });
    this.#register(counter);
    return {
      add: (amount, ...[labels]) => counter.series(labels).add(amount),
      series: (...[labels]) => counter.series(labels),
    };
  }

  gauge<L extends string = never>(options: GaugeOptions<L>): Gauge<L> {
    this.#reserve(options, 1);
    const bound = boundLabels(options);
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
    // Beside the given buckets: `+Inf`, the sum and the count.
    this.#reserve(options, options.buckets.length + 3);
    const histogram = new SeriesHistogram({ ...seriesOptions(options), buckets: options.buckets });
    this.#register(histogram);
    return {
      observe: (value, ...[labels]) => histogram.series(labels).observe(value),
      series: (...[labels]) => histogram.series(labels),
    };
  }

  /** The most series that the metrics of this registry can have. */
  get seriesLimit(): number {
    return this.#limit;
  }

  /** All metrics in Prometheus' text format; see {@link metricsContentType}. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #reserve<L extends string>(options: MetricOptions<L>, seriesPerSet: number): void {
    const limit = this.#limit + maxLabelSets(options) * seriesPerSet;
    if (limit > maxSeries)
      throw new Error(`metric ${options.name}: the server could have ${limit} series, more than ${maxSeries}`);
    this.#limit = limit;
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
  const bound = boundLabels(options) as (values: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  return { name, help, labelNames, bound };
}
