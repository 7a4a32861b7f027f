import { isJsonObject, parseJson, statusErrors, type Json, type StatusError } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';

const path = '/clusters/root/apis/core.kcp.io/v1alpha1/shards?limit=500';
const maxShards = 100;

export interface ShardTarget {
  readonly name: string;
  readonly url: string;
  /** Where the console reaches the shard itself. */
  readonly server: ApiServer;
}

/** The shards, as the user sees them. Throws a StatusError 403 for a user who may not list them. */
export async function shardsOfControlPlane(server: ApiServer, credential: Credential): Promise<readonly ShardTarget[]> {
  const listed = await apiRequest(server, credential, { method: 'GET', path });
  if (listed.status !== 200) throw refusalOf(listed.status, 'the user cannot list the shards');
  const list: Json = parseJson(listed.text);
  const items = isJsonObject(list) ? list['items'] : undefined;
  if (!Array.isArray(items)) return [];
  return items.slice(0, maxShards).flatMap((item) => {
    if (!isJsonObject(item)) return [];
    const { metadata = null, spec = null } = item;
    const name = isJsonObject(metadata) ? metadata['name'] : undefined;
    const url = isJsonObject(spec) ? spec['baseURL'] : undefined;
    if (typeof name !== 'string' || typeof url !== 'string') return [];
    // The only shard of one process may be known by an address that this machine cannot reach.
    return [{ name, url, server: server.isPinned === true ? server : { ...server, url } }];
  });
}

/** What the console answers when the API server answers this. */
export const refusalOf = (status: number, reason: string): StatusError =>
  status === 401
    ? statusErrors.unauthorized()
    : status === 403
      ? statusErrors.forbidden({ group: '', resource: '' }, '', reason)
      : statusErrors.serviceUnavailable(`the API server answered ${status}`, 1);
