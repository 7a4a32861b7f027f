import { isJsonObject, parseJson, statusErrors, type Json, type StatusError } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';
import { parseExposition, type Sample } from './parse-exposition.ts';

const shardsPath = '/clusters/root/apis/core.kcp.io/v1alpha1/shards?limit=500';
const maxMetricsBytes = 16 * 1024 * 1024;
const maxShards = 100;

export interface ShardFigures {
  readonly name: string;
  readonly url: string;
  /** Absent for a shard that gave its metrics. */
  readonly error?: string;
  readonly requests?: { readonly total: number; readonly errors: number; readonly inFlight: number };
  readonly flowControl?: readonly {
    readonly priorityLevel: string;
    readonly inQueue: number;
    readonly executing: number;
    readonly rejected: number;
  }[];
}

/**
 * What the shards report about themselves, asked for with the credential of the user: each shard decides whether the user may read
 * its metrics. Throws a StatusError 403 for a user who may not list the shards, or not read the metrics of any.
 */
export async function operatorMetrics(
  server: ApiServer,
  credential: Credential,
): Promise<{ readonly shards: readonly ShardFigures[] }> {
  const listed = await apiRequest(server, credential, { method: 'GET', path: shardsPath });
  if (listed.status !== 200) throw refusalOf(listed.status);
  const shards = shardsOf(parseJson(listed.text));
  const asked = await Promise.all(shards.map((shard) => figuresOf(shard, server, credential)));
  if (asked.length > 0 && asked.every(({ refused }) => refused === true)) throw refusalOf(403);
  return { shards: asked.map(({ figures }) => figures) };
}

const refusalOf = (status: number): StatusError =>
  status === 401
    ? statusErrors.unauthorized()
    : status === 403
      ? statusErrors.forbidden({ group: '', resource: '' }, '', 'the user cannot get path "/metrics"')
      : statusErrors.serviceUnavailable(`the API server answered ${status}`, 1);

interface Shard {
  readonly name: string;
  readonly url: string;
}

function shardsOf(list: Json): Shard[] {
  const items = isJsonObject(list) ? list['items'] : undefined;
  if (!Array.isArray(items)) return [];
  return items.slice(0, maxShards).flatMap((item) => {
    if (!isJsonObject(item)) return [];
    const { metadata = null, spec = null } = item;
    const name = isJsonObject(metadata) ? metadata['name'] : undefined;
    const url = isJsonObject(spec) ? spec['baseURL'] : undefined;
    return typeof name === 'string' && typeof url === 'string' ? [{ name, url }] : [];
  });
}

/** `refused`: the user may not read the metrics of the shard. */
async function figuresOf(
  { name, url }: Shard,
  server: ApiServer,
  credential: Credential,
): Promise<{ readonly figures: ShardFigures; readonly refused?: boolean }> {
  try {
    // The only shard of one process may be known by an address that this machine cannot reach.
    const target = server.isPinned === true ? server : { ...server, url };
    const { status, text } = await apiRequest(target, credential, {
      method: 'GET',
      path: '/metrics',
      maxResponseBytes: maxMetricsBytes,
    });
    if (status === 200) return { figures: { name, url, ...figures(parseExposition(text)) } };
    const error = `the shard answered ${status}`;
    return { figures: { name, url, error }, refused: status === 401 || status === 403 };
  } catch (error) {
    return { figures: { name, url, error: `the shard does not answer: ${(error as Error).message}` } };
  }
}

function figures(samples: ReadonlyMap<string, readonly Sample[]>): Omit<ShardFigures, 'name' | 'url'> {
  const of = (name: string): readonly Sample[] => samples.get(name) ?? [];
  const sum = (list: readonly Sample[]): number => list.reduce((total, { value }) => total + value, 0);
  const requests = of('apiserver_request_total');
  const levels = new Map<string, { inQueue: number; executing: number; rejected: number }>();
  const add = (metric: string, field: 'inQueue' | 'executing' | 'rejected'): void => {
    for (const { labels, value } of of(metric)) {
      const level = labels['priority_level'] ?? '';
      const entry = levels.get(level) ?? { inQueue: 0, executing: 0, rejected: 0 };
      entry[field] += value;
      levels.set(level, entry);
    }
  };
  add('apiserver_flowcontrol_current_inqueue_requests', 'inQueue');
  add('apiserver_flowcontrol_current_executing_requests', 'executing');
  add('apiserver_flowcontrol_rejected_requests_total', 'rejected');
  return {
    requests: {
      total: sum(requests),
      errors: sum(requests.filter(({ labels }) => labels['code']?.startsWith('5') === true)),
      inFlight: sum(of('apiserver_current_inflight_requests')),
    },
    flowControl: [...levels].map(([priorityLevel, entry]) => ({ priorityLevel, ...entry })),
  };
}
