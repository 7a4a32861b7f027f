import {
  isConditionTrue,
  type Condition,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
} from '@multiplane/apimachinery';
import { apiBindings, apiExports } from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import type { Clock, HistogramSeries, MetricsRegistry } from '@multiplane/component-base';
import { logicalClusters, workspaces } from '@multiplane/controllers';

/** Phases of logical clusters and workspaces; objects without a phase count as the first one. */
const phases = ['Scheduling', 'Initializing', 'Ready', 'Unavailable', 'Inactive', 'Terminating', 'Deleting'] as const;
/** Phases of APIBindings; empty for new ones. */
const bindingPhases = ['', 'Binding', 'Bound'] as const;
const statuses = ['True', 'False', 'Unknown'] as const;
/** Limit on the condition types with series: users who may write a status can add any type. */
const maxConditions = 12;
const maxConditionSets = 24;
const readyBuckets = [100, 1_000, 5_000, 30_000, 300_000];

type Counts = Map<string, number>;
type WithStatus = DeepReadonly<
  KubeObject & { status?: { phase?: string | undefined; conditions?: readonly Condition[] | undefined } | undefined }
>;

interface Metric {
  readonly resource: GroupVersionResource;
  readonly name: string;
  readonly help: string;
}

export interface UsageMetricsModules {
  readonly registry: MetricsRegistry;
  /** Informers of this shard. */
  readonly informers: InformerSource;
  readonly clock: Clock;
}

/**
 * kcp's metrics of a shard (`pkg/server/metrics/metrics.go`): logical clusters, workspaces and APIBindings by phase, conditions
 * of APIBindings and APIExports, and the time until these are ready. Informer handlers maintain the counts, so a scrape does
 * not list objects, and the number of series depends on phases and conditions, not on tenants.
 *
 * Creation timestamps have a resolution of one second, and so have the measured durations.
 */
export function usageMetrics(options: { readonly shardName: string }, modules: UsageMetricsModules): void {
  const { shardName } = options;
  const { registry } = modules;
  const histogram = (name: string, help: string): HistogramSeries =>
    registry
      .histogram({ name, help, labels: { shard: [shardName] }, buckets: readyBuckets })
      .series({ shard: shardName });

  for (const [resource, name, help, known] of [
    [logicalClusters, 'kcp_logicalcluster_count', 'Logical clusters of this shard by phase.', phases],
    [workspaces, 'kcp_workspace_count', 'Workspaces of this shard by phase.', phases],
    [apiBindings, 'kcp_apibinding_phase', 'APIBindings of this shard by phase.', bindingPhases],
  ] as const)
    countPhases({ resource, name, help }, known, shardName, modules);
  countConditions(
    {
      resource: apiBindings,
      name: 'kcp_apibinding_condition_status',
      help: 'Conditions of APIBindings by status.',
      duration: histogram(
        'kcp_apibinding_ready_duration_ms',
        'Milliseconds from the creation of an APIBinding to Bound.',
      ),
      // The condition stays true when the binding follows a change of its export, so only the first time counts.
      isReady: ({ status }) => isConditionTrue(status?.conditions, 'InitialBindingCompleted'),
    },
    shardName,
    modules,
  );
  countConditions(
    {
      resource: apiExports,
      name: 'kcp_apiexport_condition_status',
      help: 'Conditions of APIExports by status.',
      duration: histogram(
        'kcp_apiexport_ready_duration_ms',
        'Milliseconds from the creation of an APIExport to its identity and the URLs of its virtual workspace.',
      ),
      isReady: ({ status }) =>
        isConditionTrue(status?.conditions, 'IdentityValid') &&
        isConditionTrue(status?.conditions, 'VirtualWorkspaceURLsReady'),
    },
    shardName,
    modules,
  );
}

function countPhases(
  { resource, name, help }: Metric,
  known: readonly string[],
  shard: string,
  { registry, informers }: UsageMetricsModules,
): void {
  // Schemas restrict the phase to the known ones, so the series are bounded.
  const counts: Counts = new Map(known.map((phase) => [phase, 0]));
  registry.gauge<'shard' | 'phase'>({
    name,
    help,
    labels: { shard: [shard], phase: known },
    readAll: () => [...counts].map(([phase, value]) => [{ shard, phase }, value] as const),
  });
  const phaseOf = ({ status }: WithStatus): string => status?.phase ?? known[0] ?? '';
  informers.informer(resource).addHandlers({
    added: (object) => count(counts, phaseOf(object), 1),
    updated: (object, old) => {
      const [now, before] = [phaseOf(object), phaseOf(old)];
      if (now === before) return;
      count(counts, before, -1);
      count(counts, now, 1);
    },
    deleted: (old) => count(counts, phaseOf(old), -1),
  });
}

function countConditions(
  metric: Metric & { readonly duration: HistogramSeries; readonly isReady: (object: WithStatus) => boolean },
  shard: string,
  { registry, informers, clock }: UsageMetricsModules,
): void {
  const { resource, name, help, duration, isReady } = metric;
  const counts: Counts = new Map();
  registry.gauge<'shard' | 'condition' | 'status'>({
    name,
    help,
    labels: { shard: [shard], condition: maxConditions, status: statuses },
    maxLabelSets: maxConditionSets,
    readAll: () =>
      [...counts].map(([key, value]) => {
        const [condition = '', status = ''] = key.split(' ', 2);
        return [{ shard, condition, status }, value] as const;
      }),
  });
  const countAll = ({ status }: WithStatus, by: number): void => {
    for (const condition of status?.conditions ?? []) countPresent(counts, `${condition.type} ${condition.status}`, by);
  };
  let synced = false;
  const observe = ({ metadata }: WithStatus): void =>
    duration.observe(Math.max(0, clock.now() - Date.parse(metadata.creationTimestamp ?? '')));
  informers.informer(resource).addHandlers({
    added: (object) => {
      countAll(object, 1);
      // Some objects are created ready. Objects of the initial list became ready at an unknown time.
      if (synced && isReady(object)) observe(object);
    },
    updated: (object, old) => {
      countAll(old, -1);
      countAll(object, 1);
      if (isReady(object) && !isReady(old)) observe(object);
    },
    deleted: (old) => countAll(old, -1),
    synced: () => (synced = true),
  });
}

function count(counts: Counts, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** Deletes zero counts: the keys come from statuses and are not bounded. */
function countPresent(counts: Counts, key: string, by: number): void {
  count(counts, key, by);
  if (counts.get(key) === 0) counts.delete(key);
}
