import { isJsonObject, parseJson, type Json } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';
import { refusalOf, shardsOfControlPlane, type ShardTarget } from './shards-of-control-plane.ts';

const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const pageSize = 500;
/** 100,000 workspaces of each shard. */
const maxPages = 200;
const maxPageBytes = 4 * 1024 * 1024;
const shownPerMeasure = 25;

const measures = { Objects: 'objects', Bytes: 'bytes', Watches: 'watches', Requests: 'requests' } as const;
type Measure = (typeof measures)[keyof typeof measures];

export interface TenantFigures extends Readonly<Record<Measure, number>> {
  /** The name of the logical cluster. */
  readonly cluster: string;
  readonly shard: string;
}

export interface OperatorTenants {
  /** The workspaces that lead by one of the measures, each once. */
  readonly tenants: readonly TenantFigures[];
  readonly examined: number;
  /** Shards whose usage could not be read, with the reason. */
  readonly failures: readonly { readonly shard: string; readonly message: string }[];
  /** More workspaces exist than are examined. */
  readonly isTruncated: boolean;
}

/**
 * The largest and the busiest workspaces: reads the WorkspaceUsages of each shard page by page and keeps the leaders, so that the
 * memory that this takes does not depend on the number of workspaces. Throws a StatusError 403 for a user who may not list them
 * on any shard.
 */
export async function operatorTenants(server: ApiServer, credential: Credential): Promise<OperatorTenants> {
  const shards = await shardsOfControlPlane(server, credential);
  const found = await Promise.all(shards.map((shard) => leadersOf(shard, credential)));
  if (found.length > 0 && found.every(({ refused }) => refused === true))
    throw refusalOf(403, 'the user cannot list the usage of all workspaces');
  return {
    tenants: leaders(found.flatMap(({ tenants }) => tenants)),
    examined: found.reduce((sum, { examined }) => sum + examined, 0),
    failures: found.flatMap(({ shard, message }) => (message === undefined ? [] : [{ shard, message }])),
    isTruncated: found.some(({ isTruncated }) => isTruncated),
  };
}

interface FoundOnShard {
  readonly shard: string;
  readonly tenants: readonly TenantFigures[];
  readonly examined: number;
  readonly isTruncated: boolean;
  readonly message?: string;
  readonly refused?: boolean;
}

async function leadersOf({ name, server }: ShardTarget, credential: Credential): Promise<FoundOnShard> {
  let tenants: readonly TenantFigures[] = [];
  let examined = 0;
  let token = '';
  for (let page = 0; page < maxPages; page++) {
    const query = `limit=${pageSize}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
    const path = `/clusters/*/apis/limits.multiplane.dev/v1alpha1/workspaceusages?${query}`;
    let answer;
    try {
      answer = await apiRequest(server, credential, { method: 'GET', path, accept, maxResponseBytes: maxPageBytes });
    } catch (error) {
      const message = `the shard does not answer: ${(error as Error).message}`;
      return { shard: name, tenants, examined, isTruncated: false, message };
    }
    const { status, text } = answer;
    if (status !== 200) {
      const refused = status === 401 || status === 403;
      return { shard: name, tenants, examined, isTruncated: false, message: `the shard answered ${status}`, refused };
    }
    const table = parseJson(text);
    const read = tenantsOf(table, name);
    examined += read.length;
    tenants = leaders([...tenants, ...read]);
    token = continueOf(table);
    if (token === '') return { shard: name, tenants, examined, isTruncated: false };
  }
  return { shard: name, tenants, examined, isTruncated: true };
}

function continueOf(table: Json): string {
  const metadata = isJsonObject(table) ? table['metadata'] : undefined;
  const token = metadata !== undefined && isJsonObject(metadata) ? metadata['continue'] : undefined;
  return typeof token === 'string' ? token : '';
}

/** Rows of a Table, whose columns are found by their names. */
function tenantsOf(table: Json, shard: string): TenantFigures[] {
  if (!isJsonObject(table)) return [];
  const { columnDefinitions, rows } = table;
  if (!Array.isArray(columnDefinitions) || !Array.isArray(rows)) return [];
  const names = columnDefinitions.map((column) => (isJsonObject(column) ? column['name'] : undefined));
  const positions = Object.entries(measures).map(([name, measure]) => [measure, names.indexOf(name)] as const);
  return rows.flatMap((row) => {
    if (!isJsonObject(row) || !Array.isArray(row['cells'])) return [];
    const cells = row['cells'];
    const figure = (at: number): number => (typeof cells[at] === 'number' ? cells[at] : 0);
    const figures = Object.fromEntries(positions.map(([measure, at]) => [measure, figure(at)]));
    return [{ cluster: clusterOf(row['object']), shard, ...(figures as Record<Measure, number>) }];
  });
}

function clusterOf(object: Json | undefined): string {
  const metadata = object !== undefined && isJsonObject(object) ? object['metadata'] : undefined;
  const annotations = metadata !== undefined && isJsonObject(metadata) ? metadata['annotations'] : undefined;
  const cluster = annotations !== undefined && isJsonObject(annotations) ? annotations['kcp.io/cluster'] : undefined;
  return typeof cluster === 'string' ? cluster : '';
}

/** Those that lead by some measure. */
function leaders(all: readonly TenantFigures[]): readonly TenantFigures[] {
  const kept = new Set<TenantFigures>();
  for (const measure of Object.values(measures))
    for (const tenant of all.toSorted((a, b) => b[measure] - a[measure]).slice(0, shownPerMeasure)) kept.add(tenant);
  return [...kept];
}
