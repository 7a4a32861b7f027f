import type { Counter, CounterSeries, Histogram, HistogramSeries, MetricsRegistry } from '@multiplane/component-base';
import type { FairQueueSet } from './fair-queue-set.ts';

export const rejectionReasons = ['queue-full', 'concurrency-limit', 'time-out', 'cancelled'] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

/** Configurations may have more; further ones share the label `other`. Eight levels and 13 schemas are seeded. */
const maxLevels = 12;
const maxSchemas = 24;
/** Combinations of levels and schemas, and those that had rejections. */
const maxFlows = 32;
const maxRejections = 40;
const buckets = [0.005, 0.1, 1, 5, 15];

export interface LevelGauges {
  readonly name: string;
  readonly set: FairQueueSet | undefined;
  readonly executing: number;
  readonly nominalSeats: number;
  readonly seats: number;
}

type SchemaLabels = 'priority_level' | 'flow_schema';

/** The series of one FlowSchema. */
export interface FlowSchemaSeries {
  readonly dispatched: CounterSeries;
  readonly waited: HistogramSeries;
  readonly waitedInVain: HistogramSeries;
  readonly rejected: (reason: RejectionReason) => CounterSeries;
}

/** The metrics `apiserver_flowcontrol_*` of kube-apiserver that operators use; gauges are per priority level. */
export class FlowControlMetrics {
  readonly #dispatched: Counter<SchemaLabels>;
  readonly #rejected: Counter<SchemaLabels | 'reason'>;
  readonly #waited: Histogram<'priority_level' | 'execute'>;

  constructor(registry: MetricsRegistry, levels: () => readonly LevelGauges[]) {
    const labels = { priority_level: maxLevels, flow_schema: maxSchemas };
    this.#dispatched = registry.counter({
      name: 'apiserver_flowcontrol_dispatched_requests_total',
      help: 'Requests that priority and fairness executed.',
      labels,
      maxLabelSets: maxFlows,
    });
    this.#rejected = registry.counter({
      name: 'apiserver_flowcontrol_rejected_requests_total',
      help: 'Requests that priority and fairness rejected.',
      labels: { ...labels, reason: rejectionReasons },
      maxLabelSets: maxRejections,
    });
    this.#waited = registry.histogram({
      name: 'apiserver_flowcontrol_request_wait_duration_seconds',
      help: 'Time that requests spent in queues; those that executed at once are not counted.',
      // Not by FlowSchema, other than in Kubernetes: each would have ten series twice.
      labels: { priority_level: maxLevels, execute: ['true', 'false'] },
      maxLabelSets: 16,
      buckets,
    });
    const gauge = (name: string, help: string, read: (level: LevelGauges) => number): unknown =>
      registry.gauge({
        name: `apiserver_flowcontrol_${name}`,
        help,
        labels: { priority_level: maxLevels },
        readAll: () => levels().map((level) => [{ priority_level: level.name }, read(level)] as const),
      });
    gauge('current_inqueue_requests', 'Requests in queues.', ({ set }) => set?.waiting ?? 0);
    gauge('current_inqueue_seats', 'Seats that requests in queues need.', ({ set }) => set?.waitingSeats ?? 0);
    gauge('current_executing_requests', 'Executing requests.', ({ executing }) => executing);
    gauge('current_executing_seats', 'Occupied seats.', ({ set, executing }) => set?.executingSeats ?? executing);
    gauge('nominal_limit_seats', 'Configured share of the seats.', ({ nominalSeats }) => nominalSeats);
    gauge('current_limit_seats', 'Seats after borrowing and lending.', ({ seats }) => seats);
  }

  series(level: string, schema: string): FlowSchemaSeries {
    const labels = { priority_level: level, flow_schema: schema };
    const rejected = new Map<RejectionReason, CounterSeries>();
    const waited = this.#waited;
    return {
      dispatched: this.#dispatched.series(labels),
      waited: waited.series({ priority_level: level, execute: 'true' }),
      get waitedInVain() {
        return waited.series({ priority_level: level, execute: 'false' });
      },
      rejected: (reason) => {
        let series = rejected.get(reason);
        if (series === undefined) {
          series = this.#rejected.series({ ...labels, reason });
          rejected.set(reason, series);
        }
        return series;
      },
    };
  }
}
