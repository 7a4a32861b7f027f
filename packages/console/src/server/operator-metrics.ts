import { isJsonObject, parseJson, type Json } from '@multiplane/apimachinery';
import { apiRequest, type ApiResponse } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';
import { parseExposition, type Sample } from './parse-exposition.ts';
import { refusalOf, shardsOfControlPlane, type ShardTarget } from './shards-of-control-plane.ts';

const maxMetricsBytes = 16 * 1024 * 1024;
/** Workspaces carry their phase as a label, so that a shard lists the few that are not ready. */
const pendingPath =
  '/clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces?limit=100&labelSelector=tenancy.kcp.io%2Fphase%21%3DReady';
const maxPendingBytes = 4 * 1024 * 1024;
/** The queue whose keys are objects of the shard that other shards do not have yet. */
const replicationQueue = 'replication';

export interface PriorityLevel {
  readonly priorityLevel: string;
  readonly inQueue: number;
  readonly executing: number;
  readonly rejected: number;
  readonly seats: number;
}

export interface PendingWorkspace {
  readonly name: string;
  /** The logical cluster of its parent. */
  readonly cluster: string;
  readonly phase: string;
  readonly creationTimestamp: string;
  /** What the conditions that are not met say. */
  readonly reasons: readonly string[];
}

export interface ShardFigures {
  readonly name: string;
  readonly url: string;
  /** Absent for a shard that gave its metrics. */
  readonly error?: string;
  /** Checks of /readyz that fail; empty for a shard that is ready. */
  readonly failedChecks?: readonly string[];
  readonly requests?: {
    readonly total: number;
    readonly errors: number;
    readonly inFlight: number;
    readonly watches: number;
  };
  /** Seconds; the highest of a hundred measurements but one. */
  readonly eventLoopDelay?: number | undefined;
  readonly memoryBytes?: number | undefined;
  /** Logical clusters by phase. */
  readonly logicalClusters?: Readonly<Record<string, number>>;
  /** Workspaces whose phase is another one than Ready. */
  readonly pendingCount?: number;
  readonly replication?: {
    readonly waiting: number;
    /** Age of the oldest change that waits. */ readonly lagSeconds?: number | undefined;
  };
  readonly flowControl?: readonly PriorityLevel[];
  /** The first of them; absent if the user may not list workspaces of all logical clusters. */
  readonly pendingWorkspaces?: readonly PendingWorkspace[];
}

/**
 * What the shards report about themselves, asked for with the credential of the user: each shard decides whether the user may read
 * its metrics. Throws a StatusError 403 for a user who may not list the shards, or not read the metrics of any.
 */
export async function operatorMetrics(
  server: ApiServer,
  credential: Credential,
): Promise<{ readonly shards: readonly ShardFigures[] }> {
  const shards = await shardsOfControlPlane(server, credential);
  const asked = await Promise.all(shards.map((shard) => figuresOf(shard, credential)));
  if (asked.length > 0 && asked.every(({ refused }) => refused === true))
    throw refusalOf(403, 'the user cannot get path "/metrics"');
  return { shards: asked.map(({ figures }) => figures) };
}

/** `refused`: the user may not read the metrics of the shard. */
async function figuresOf(
  { name, url, server }: ShardTarget,
  credential: Credential,
): Promise<{ readonly figures: ShardFigures; readonly refused?: boolean }> {
  const get = (path: string, maxResponseBytes?: number): Promise<ApiResponse> =>
    apiRequest(server, credential, { method: 'GET', path, maxResponseBytes });
  try {
    const { status, text } = await get('/metrics', maxMetricsBytes);
    if (status !== 200)
      return {
        figures: { name, url, error: `the shard answered ${status}` },
        refused: status === 401 || status === 403,
      };
    const [ready, pending] = await Promise.all([get('/readyz?verbose'), get(pendingPath, maxPendingBytes)]);
    const pendingWorkspaces = pending.status === 200 ? pendingOf(parseJson(pending.text)) : undefined;
    return {
      figures: {
        name,
        url,
        failedChecks: failedChecksOf(ready.text),
        ...figures(parseExposition(text)),
        ...(pendingWorkspaces === undefined ? {} : { pendingWorkspaces }),
      },
    };
  } catch (error) {
    return { figures: { name, url, error: `the shard does not answer: ${(error as Error).message}` } };
  }
}

const failedChecksOf = (text: string): string[] => [...text.matchAll(/^\[-\](\S+)/gm)].map(([, name = '']) => name);

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

function pendingOf(list: Json): PendingWorkspace[] {
  const items = isJsonObject(list) ? list['items'] : undefined;
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => {
    if (!isJsonObject(item)) return [];
    const { metadata, status } = item;
    if (!isJsonObject(metadata)) return [];
    const { annotations = null } = metadata;
    const conditions = isJsonObject(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
    const reasons = conditions.flatMap((condition) =>
      isJsonObject(condition) && condition['status'] === 'False'
        ? [`${text(condition['type'])}: ${text(condition['message']) || text(condition['reason'])}`]
        : [],
    );
    return [
      {
        name: text(metadata['name']),
        cluster: isJsonObject(annotations) ? text(annotations['kcp.io/cluster']) : '',
        phase: isJsonObject(status) ? text(status['phase']) : '',
        creationTimestamp: text(metadata['creationTimestamp']),
        reasons,
      },
    ];
  });
}

type Figures = Omit<ShardFigures, 'name' | 'url'>;

function figures(samples: ReadonlyMap<string, readonly Sample[]>): Figures {
  const of = (name: string): readonly Sample[] => samples.get(name) ?? [];
  const sum = (list: readonly Sample[]): number => list.reduce((total, { value }) => total + value, 0);
  const requests = of('apiserver_request_total');
  return {
    requests: {
      total: sum(requests),
      errors: sum(requests.filter(({ labels }) => labels['code']?.startsWith('5') === true)),
      inFlight: sum(of('apiserver_current_inflight_requests')),
      watches: sum(of('apiserver_longrunning_requests')),
    },
    eventLoopDelay: of('multiplane_event_loop_delay_seconds').find(({ labels }) => labels['quantile'] === '0.99')
      ?.value,
    memoryBytes: of('process_resident_memory_bytes')[0]?.value,
    logicalClusters: Object.fromEntries(
      of('kcp_logicalcluster_count')
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [labels['phase'] ?? '', value]),
    ),
    pendingCount: sum(of('kcp_workspace_count').filter(({ labels }) => labels['phase'] !== 'Ready')),
    replication: {
      waiting: sum(of('workqueue_depth').filter(({ labels }) => labels['name'] === replicationQueue)),
      lagSeconds: of('multiplane_replication_lag_seconds')[0]?.value,
    },
    flowControl: flowControlOf(of),
  };
}

const flowControlMetrics = [
  ['apiserver_flowcontrol_current_inqueue_requests', 'inQueue'],
  ['apiserver_flowcontrol_current_executing_requests', 'executing'],
  ['apiserver_flowcontrol_rejected_requests_total', 'rejected'],
  ['apiserver_flowcontrol_current_limit_seats', 'seats'],
] as const;

/** Sums over flow schemas and reasons, by priority level. */
function flowControlOf(of: (name: string) => readonly Sample[]): PriorityLevel[] {
  const levels = new Map<string, { inQueue: number; executing: number; rejected: number; seats: number }>();
  for (const [metric, field] of flowControlMetrics)
    for (const { labels, value } of of(metric)) {
      const level = labels['priority_level'] ?? '';
      const entry = levels.get(level) ?? { inQueue: 0, executing: 0, rejected: 0, seats: 0 };
      entry[field] += value;
      levels.set(level, entry);
    }
  return [...levels].map(([priorityLevel, entry]) => ({ priorityLevel, ...entry }));
}
