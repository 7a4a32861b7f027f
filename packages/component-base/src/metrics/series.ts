/** One series of a counter, without a label lookup per increment. */
export interface CounterSeries {
  add(amount: number): void;
}
/** One series of a histogram. */
export interface HistogramSeries {
  observe(value: number): void;
}

type Values = Readonly<Record<string, string>>;

/** What prom-client's registry expects of a metric when it renders. */
interface CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly { readonly value: number; readonly labels: Values; readonly metricName?: string }[];
}

interface SeriesOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Replaces label values beyond their bounds. */
  readonly bound: (labels: Values) => Values;
}

/**
 * A metric that keeps its own series and is registered with prom-client for rendering only. prom-client's metrics hash the
 * labels of every observation, which costs more than a whole filter of the request chain; here hot paths keep the series.
 */
abstract class SeriesMetric<S> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly #bound: SeriesOptions['bound'];
  readonly #series = new Map<string, { readonly labels: Values; readonly series: S }>();

  constructor(options: SeriesOptions) {
    this.name = options.name;
    this.help = options.help;
    this.labelNames = options.labelNames;
    this.#bound = options.bound;
  }

  series(given: Values = {}): S {
    const labels = this.#bound(given);
    const key = this.labelNames.map((name) => labels[name] ?? '').join('\u0000');
    let entry = this.#series.get(key);
    if (entry === undefined) {
      entry = { labels, series: this.make() };
      this.#series.set(key, entry);
    }
    return entry.series;
  }

  /** Called by the registry. */
  abstract get(): Promise<CollectedMetric>;

  /** Called by the registry. Keeps the series, because hot paths hold them. */
  reset(): void {
    for (const { series } of this.#series.values()) this.clear(series);
  }

  protected entries(): Iterable<{ readonly labels: Values; readonly series: S }> {
    return this.#series.values();
  }
  protected abstract make(): S;
  protected abstract clear(series: S): void;
}

class Count implements CounterSeries {
  value = 0;
  add(amount: number): void {
    this.value += amount;
  }
}

export class SeriesCounter extends SeriesMetric<Count> {
  readonly #readAll: (() => Iterable<readonly [labels: Values, value: number]>) | undefined;
  constructor(
    options: SeriesOptions & {
      readonly readAll?: (() => Iterable<readonly [labels: Values, value: number]>) | undefined;
    },
  ) {
    super(options);
    this.#readAll = options.readAll;
    // A counter without labels starts at 0, so that a rate includes its first increase.
    if (options.labelNames.length === 0) this.series();
  }
  get(): Promise<CollectedMetric> {
    if (this.#readAll !== undefined) {
      this.reset();
      for (const [labels, value] of this.#readAll()) this.series(labels).add(value);
    }
    const values = Array.from(this.entries(), ({ labels, series }) => ({ value: series.value, labels }));
    return Promise.resolve({ name: this.name, help: this.help, type: 'counter', aggregator: 'sum', values });
  }
  protected make(): Count {
    return new Count();
  }
  protected clear(series: Count): void {
    series.value = 0;
  }
}

class Distribution implements HistogramSeries {
  readonly #bounds: readonly number[];
  /** Observations per bucket, not cumulative; the last bucket is +Inf. */
  readonly counts: number[];
  sum = 0;
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }
  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
  }
}

export class SeriesHistogram extends SeriesMetric<Distribution> {
  readonly #bounds: readonly number[];
  constructor(options: SeriesOptions & { readonly buckets: readonly number[] }) {
    super(options);
    this.#bounds = [...options.buckets].sort((a, b) => a - b);
    if (options.labelNames.length === 0) this.series();
  }
  get(): Promise<CollectedMetric> {
    const { name, help } = this;
    const values = Array.from(this.entries()).flatMap(({ labels, series }) => {
      let total = 0;
      const buckets = series.counts.map((count, index) => {
        total += count;
        const le = index < this.#bounds.length ? String(this.#bounds[index]) : '+Inf';
        return { metricName: `${name}_bucket`, value: total, labels: { le, ...labels } };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, value: series.sum, labels },
        { metricName: `${name}_count`, value: total, labels },
      ];
    });
    return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values });
  }
  protected make(): Distribution {
    return new Distribution(this.#bounds);
  }
  protected clear(series: Distribution): void {
    series.counts.fill(0);
    series.sum = 0;
  }
}
