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

/** Of logical clusters and workspaces; all are reported always. What has none yet waits for its shard (C14.2). */
const phases = ['Scheduling', 'Initializing', 'Ready', 'Unavailable', 'Inactive', 'Terminating', 'Deleting'] as const;
/** Of bindings; empty for new ones. */
const bindingPhases = ['', 'Binding', 'Bound'] as const;
const statuses = ['True', 'False', 'Unknown'] as const;
/** Types of conditions are the system's, but whoever may write a status may write others. */
const maxConditions = 24;
const readyBuckets = [100, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];

type Counts = Map<string, number>;
type WithStatus = DeepReadonly<
  KubeObject & { status?: { phase?: string | undefined; conditions?: readonly Condition[] | undefined } | undefined }
>;

export interface UsageMetricsModules {
  readonly registry: MetricsRegistry;
  /** Of this shard. */
  readonly informers: InformerSource;
  readonly clock: Clock;
}

/**
 * What a shard has, as kcp 0.32 tells it (C14.2): logical clusters, workspaces and bindings by phase, conditions of
 * bindings and exports, and how long these took to be of use. Counted with every change, so that a scrape costs the same
 * whatever there is, and the number of series is that of phases and conditions, not of tenants.
 *
 * Times of creation are whole seconds, and so is what is measured from them; the reference's, too.
 */
export function usageMetrics(options: { readonly shardName: string }, modules: UsageMetricsModules): void {
  const { shardName: shard } = options;
  const { registry, informers, clock } = modules;
  const ofPhases = (resource: GroupVersionResource, name: string, help: string, known: readonly string[]): void => {
    // Phases are checked when a status is written: there are no others.
    const counts: Counts = new Map(known.map((phase) => [phase, 0]));
    registry.gauge<'shard' | 'phase'>({
      name,
      help,
      labels: { shard: [shard], phase: known },
      readAll: () => [...counts].map(([phase, count]) => [{ shard, phase }, count] as const),
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
  };
  const ofConditions = (
    resource: GroupVersionResource,
    name: string,
    help: string,
    ready: { readonly duration: HistogramSeries; readonly isReady: (object: WithStatus) => boolean },
  ): void => {
    const counts: Counts = new Map();
    registry.gauge<'shard' | 'condition' | 'status'>({
      name,
      help,
      labels: { shard: [shard], condition: maxConditions, status: statuses },
      readAll: () =>
        [...counts].map(([key, value]) => {
          const [condition = '', status = ''] = key.split(' ', 2);
          return [{ shard, condition, status }, value] as const;
        }),
    });
    const countAll = ({ status }: WithStatus, by: number): void => {
      for (const condition of status?.conditions ?? [])
        countPresent(counts, `${condition.type} ${condition.status}`, by);
    };
    const { duration, isReady } = ready;
    let synced = false;
    const observe = ({ metadata }: WithStatus): void =>
      duration.observe(Math.max(0, clock.now() - Date.parse(metadata.creationTimestamp ?? '')));
    informers.informer(resource).addHandlers({
      added: (object) => {
        countAll(object, 1);
        // Some are made as they are to stay; what was there at the start became ready at some other time.
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
  };
  const histogram = (name: string, help: string): HistogramSeries =>
    registry.histogram({ name, help, labels: { shard: [shard] }, buckets: readyBuckets }).series({ shard });

  ofPhases(logicalClusters, 'kcp_logicalcluster_count', 'Logical clusters of this shard by phase.', phases);
  ofPhases(workspaces, 'kcp_workspace_count', 'Workspaces of this shard by phase.', phases);
  ofPhases(apiBindings, 'kcp_apibinding_phase', 'APIBindings of this shard by phase.', bindingPhases);
  ofConditions(apiBindings, 'kcp_apibinding_condition_status', 'Conditions of APIBindings by status.', {
    duration: histogram(
      'kcp_apibinding_ready_duration_ms',
      'Milliseconds from the creation of an APIBinding to Bound.',
    ),
    // It stays so when the binding follows a change of its export: only the first time counts.
    isReady: ({ status }) => isConditionTrue(status?.conditions, 'InitialBindingCompleted'),
  });
  ofConditions(apiExports, 'kcp_apiexport_condition_status', 'Conditions of APIExports by status.', {
    duration: histogram(
      'kcp_apiexport_ready_duration_ms',
      'Milliseconds from the creation of an APIExport to its identity and the URLs of its virtual workspace.',
    ),
    isReady: ({ status }) =>
      isConditionTrue(status?.conditions, 'IdentityValid') &&
      isConditionTrue(status?.conditions, 'VirtualWorkspaceURLsReady'),
  });
}

function count(counts: Counts, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** Forgets what no object has: what is written into a status is not bounded by itself. */
function countPresent(counts: Counts, key: string, by: number): void {
  count(counts, key, by);
  if (counts.get(key) === 0) counts.delete(key);
}
