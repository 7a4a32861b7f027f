import { isJsonObject, parseJson, statusErrors, type Json, type JsonObject } from '@multiplane/apimachinery';
import { apiRequest } from './api-request.ts';
import type { ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';
import { refusalOf } from './shards-of-control-plane.ts';

/** The name of a logical cluster, never a path: only a path may lead to the server of a mount. */
const clusterName = /^[a-z0-9]{1,63}$/;
const exportName = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const pageSize = 500;
const maxPages = 20;
const maxEndpoints = 100;
const maxPageBytes = 16 * 1024 * 1024;

export interface ConsumerClaim {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly state: string;
}

export interface ExportConsumer {
  /** The name of the logical cluster. */
  readonly cluster: string;
  readonly path: string;
  readonly binding: string;
  readonly phase: string;
  readonly creationTimestamp: string;
  readonly claims: readonly ConsumerClaim[];
}

export interface ExportConsumers {
  readonly consumers: readonly ExportConsumer[];
  /** Endpoints that could not be read, with the reason. */
  readonly failures: readonly { readonly url: string; readonly message: string }[];
  /** There are more consumers than are listed. */
  readonly isTruncated: boolean;
}

/**
 * The bindings of an export, which the endpoints of all shards list for its provider, in the name of the user. The addresses come
 * from the status of endpoint slices, which only shards write, and of a logical cluster by its name: a path could lead through a
 * mount to the server of a tenant, which would name an address that gets the credential of the user.
 */
export async function exportConsumers(
  server: ApiServer,
  credential: Credential,
  asked: { readonly cluster: string; readonly name: string },
): Promise<ExportConsumers> {
  if (!clusterName.test(asked.cluster))
    throw statusErrors.badRequest('cluster: the name of a logical cluster is required');
  if (!exportName.test(asked.name)) throw statusErrors.badRequest('export: the name of an APIExport is required');
  const path = `/clusters/${asked.cluster}/apis/apis.kcp.io/v1alpha1/apiexportendpointslices?limit=500`;
  const listed = await apiRequest(server, credential, { method: 'GET', path, maxResponseBytes: maxPageBytes });
  if (listed.status !== 200)
    throw refusalOf(listed.status, 'the user cannot list the endpoint slices of this workspace');
  const urls = endpointsOf(parseJson(listed.text), asked);
  const found = await Promise.all(urls.slice(0, maxEndpoints).map((url) => consumersAt(url, server, credential)));
  return {
    consumers: found.flatMap(({ consumers }) => consumers),
    failures: found.flatMap(({ url, message }) => (message === undefined ? [] : [{ url, message }])),
    isTruncated: urls.length > maxEndpoints || found.some(({ isTruncated }) => isTruncated),
  };
}

const objectIn = (value: JsonObject | undefined, name: string): JsonObject | undefined => {
  const inner = value?.[name];
  return inner !== undefined && isJsonObject(inner) ? inner : undefined;
};
const textIn = (value: JsonObject | undefined, name: string): string => {
  const inner = value?.[name];
  return typeof inner === 'string' ? inner : '';
};
const objectsIn = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Of all slices that are about the export, each once. */
function endpointsOf(list: Json, { name }: { readonly name: string }): string[] {
  const urls = new Set<string>();
  for (const slice of objectsIn(isJsonObject(list) ? list['items'] : undefined)) {
    const reference = objectIn(objectIn(slice, 'spec'), 'export');
    if (textIn(reference, 'name') !== name) continue;
    for (const endpoint of objectsIn(objectIn(slice, 'status')?.['endpoints'])) {
      const url = textIn(endpoint, 'url');
      if (URL.canParse(url) && new URL(url).protocol === 'https:') urls.add(url);
    }
  }
  return [...urls];
}

interface Found {
  readonly url: string;
  readonly consumers: readonly ExportConsumer[];
  readonly isTruncated: boolean;
  readonly message?: string;
}

async function consumersAt(url: string, server: ApiServer, credential: Credential): Promise<Found> {
  const { origin, pathname } = new URL(url);
  // The only shard of one process may be known by an address that this machine cannot reach.
  const target = server.isPinned === true ? server : { ...server, url: origin };
  const consumers: ExportConsumer[] = [];
  let token = '';
  for (let page = 0; page < maxPages; page++) {
    const query = `limit=${pageSize}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
    const path = `${pathname}/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings?${query}`;
    let answer;
    try {
      answer = await apiRequest(target, credential, { method: 'GET', path, maxResponseBytes: maxPageBytes });
    } catch (error) {
      return { url, consumers, isTruncated: false, message: `it does not answer: ${(error as Error).message}` };
    }
    if (answer.status !== 200) return { url, consumers, isTruncated: false, message: `it answered ${answer.status}` };
    const list = parseJson(answer.text);
    if (!isJsonObject(list)) break;
    consumers.push(...objectsIn(list['items']).map(consumerOf));
    token = textIn(objectIn(list, 'metadata'), 'continue');
    if (token === '') return { url, consumers, isTruncated: false };
  }
  return { url, consumers, isTruncated: token !== '' };
}

function consumerOf(binding: JsonObject): ExportConsumer {
  const metadata = objectIn(binding, 'metadata');
  const annotations = objectIn(metadata, 'annotations');
  const cluster = textIn(annotations, 'kcp.io/cluster');
  return {
    cluster,
    path: textIn(annotations, 'kcp.io/path') || cluster,
    binding: textIn(metadata, 'name'),
    phase: textIn(objectIn(binding, 'status'), 'phase'),
    creationTimestamp: textIn(metadata, 'creationTimestamp'),
    claims: objectsIn(objectIn(binding, 'spec')?.['permissionClaims']).map((claim) => ({
      group: textIn(claim, 'group'),
      resource: textIn(claim, 'resource'),
      verbs: Array.isArray(claim['verbs']) ? claim['verbs'].filter((verb) => typeof verb === 'string') : [],
      state: textIn(claim, 'state'),
    })),
  };
}
