import {
  deepEqual,
  fieldErrorText,
  isJsonObject,
  validateLabelSelectorObject,
  FieldPath,
  type DeepReadonly,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { Endpoint } from '@multiplane/apis';

/** The endpoints of a slice, or the reason why there are none. */
export type SliceEndpoints =
  | { readonly endpoints: readonly Endpoint[] }
  | { readonly reason: string; readonly message: string };

/**
 * Limits of what is copied into the status of an APIExport, which every shard keeps in memory. A shard uses a few of the
 * endpoints; a provider with more servers puts them behind a load balancer.
 */
const maxEndpoints = 64;
const maxUrlLength = 2_048;
const maxSelectorLength = 2_048;

/**
 * Reads `status.endpoints[]`, the contract of every endpoint slice (kcp pkg/endpointslice). One malformed entry makes
 * the slice unusable: to serve from a part of the endpoints would hide the mistake from the provider. Duplicates are left
 * out. `subject` begins the message.
 */
export function endpointsOfSlice(slice: DeepReadonly<KubeObject>, subject: string): SliceEndpoints {
  const { status } = slice as { readonly status?: unknown };
  const invalid = (message: string): SliceEndpoints => ({
    reason: 'InvalidEndpoints',
    message: `${subject} ${message}`,
  });
  if (status !== undefined && !isJsonObject(status)) return invalid('has a status that is no object');
  const endpoints: unknown = status?.['endpoints'];
  if (endpoints === undefined || (Array.isArray(endpoints) && endpoints.length === 0))
    return { reason: 'NoEndpoints', message: `${subject} has no status.endpoints` };
  if (!Array.isArray(endpoints)) return invalid('has status.endpoints that are no list');
  if (endpoints.length > maxEndpoints)
    return invalid(`has ${endpoints.length} entries in status.endpoints; at most ${maxEndpoints} are supported`);
  const found = new Map<string, Endpoint>();
  for (const [index, endpoint] of endpoints.entries()) {
    const url: unknown = isJsonObject(endpoint) ? endpoint['url'] : undefined;
    if (typeof url !== 'string' || url === '') return invalid(`has no url in status.endpoints[${index}]`);
    const problem = urlProblem(url);
    if (problem !== undefined) return invalid(`has an invalid url in status.endpoints[${index}]: ${problem}`);
    const shards = (endpoint as { readonly shards?: Json }).shards ?? undefined;
    const inShards = shards === undefined ? undefined : shardsProblem(shards);
    if (inShards !== undefined) return invalid(`has invalid shards in status.endpoints[${index}]: ${inShards}`);
    const entry: Endpoint = shards === undefined ? { url } : { url, shards: shards as NonNullable<Endpoint['shards']> };
    const known = found.get(url);
    // A URL is the key of the list that the endpoints are copied into.
    if (known !== undefined && !deepEqual(known.shards ?? null, shards ?? null))
      return invalid(`has a url with other shards before in status.endpoints[${index}]; join the selectors`);
    found.set(url, entry);
  }
  return { endpoints: [...found.values()] };
}

function shardsProblem(shards: Json): string | undefined {
  if (!isJsonObject(shards)) return 'it is no object';
  const { matchAll = false, selector } = shards;
  if (typeof matchAll !== 'boolean') return 'matchAll is no boolean';
  if (selector === undefined) return undefined;
  if (!isJsonObject(selector)) return 'selector is no label selector';
  if (matchAll) return 'matchAll and selector are mutually exclusive';
  if (JSON.stringify(selector).length > maxSelectorLength)
    return `selector is longer than ${maxSelectorLength} characters`;
  const errors = validateLabelSelectorObject(selector, FieldPath.of('selector'));
  return errors.length === 0 ? undefined : errors.map(fieldErrorText).join('; ');
}

function urlProblem(url: string): string | undefined {
  if (url.length > maxUrlLength) return `it is longer than ${maxUrlLength} characters`;
  if (!URL.canParse(url)) return 'it is no URL';
  const { protocol, username, password, search, hash } = new URL(url);
  if (protocol !== 'https:') return 'it must begin with https://';
  if (username !== '' || password !== '') return 'it must not contain a user or a password';
  if (search !== '' || hash !== '') return 'it must not contain a query or a fragment';
  return undefined;
}
