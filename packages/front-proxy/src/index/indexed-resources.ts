import { isJsonObject, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import type { WorkspaceEntry } from './shard-entries.ts';
import type { ShardAddress } from './workspace-index.ts';

export const shards: GroupVersionResource = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };
export const logicalClusters: GroupVersionResource = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
};
export const workspaces: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaces',
};

const typeAnnotation = 'internal.tenancy.kcp.io/type';

/** Path of the WorkspaceType, from the annotation of a LogicalCluster. */
export function typeOf({ metadata }: KubeObject): string {
  return metadata.annotations?.[typeAnnotation] ?? '';
}

/** The indexed fields of a Workspace in the logical cluster `parent`. */
export function workspaceEntry(object: KubeObject, parent: string): WorkspaceEntry {
  const spec = part(object, 'spec');
  const status = part(object, 'status');
  return {
    parent,
    name: object.metadata.name ?? '',
    cluster: text(spec['cluster']),
    phase: text(status['phase']),
    mountUrl: isJsonObject(spec['mount'] ?? null) ? (text(spec['URL']) ?? '') : undefined,
  };
}

/** The URLs of a Shard; undefined without a valid base URL. */
export function shardAddress(shard: KubeObject): ShardAddress | undefined {
  const spec = part(shard, 'spec');
  const baseUrl = url(spec['baseURL']);
  if (baseUrl === undefined) return undefined;
  return {
    baseUrl,
    virtualWorkspaceUrl: url(spec['virtualWorkspaceURL']) ?? baseUrl,
    externalUrl: url(spec['externalURL']) ?? baseUrl,
  };
}

function part(object: KubeObject, name: string): Readonly<Record<string, unknown>> {
  const value = (object as unknown as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

function url(value: unknown): URL | undefined {
  const given = text(value);
  if (given === undefined || !URL.canParse(given)) return undefined;
  const parsed = new URL(given);
  return parsed.protocol === 'https:' || parsed.protocol === 'http:' ? parsed : undefined;
}
