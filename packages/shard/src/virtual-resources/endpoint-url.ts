import {
  isJsonObject,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type StatusError,
} from '@multiplane/apimachinery';

/** A resource as error messages name it. */
interface Resource {
  readonly group: string;
  readonly resource: string;
}

/**
 * The URL that serves the objects of a virtual resource: the one URL of an endpoint slice's status that begins with the
 * virtual workspace URL of this shard (kcp pkg/endpointslice). Any kind may be such a slice; the contract is
 * `status.endpoints[].url` alone. Throws StatusError 500 when there is none or more than one.
 */
export function endpointUrl(slice: DeepReadonly<KubeObject>, ownPrefix: string, resource: Resource): URL {
  const status = slice['status'];
  const endpoints = isJsonObject(status) ? status['endpoints'] : undefined;
  if (status !== undefined && !isJsonObject(status)) throw unresolved('status field is of a wrong type');
  if (endpoints === undefined || (Array.isArray(endpoints) && endpoints.length === 0))
    throw internal(
      `error resolving resource ${resource.resource}.${resource.group}; please contact APIExport owner to resolve`,
    );
  if (!Array.isArray(endpoints)) throw unresolved('endpoints field is of a wrong type');
  const urls = endpoints.map((endpoint, index) => {
    if (!isJsonObject(endpoint)) throw unresolved(`endpoint at index ${index} is not an object`);
    const { url } = endpoint;
    if (typeof url !== 'string' || url === '') throw unresolved(`missing url in endpoint at index ${index}`);
    return url;
  });
  // As a prefix of whole segments: `https://host/a` is not one of `https://host/abc`.
  const base = ownPrefix.replace(/\/+$/, '');
  const own = urls.filter((url) => url === base || url.startsWith(`${base}/`));
  if (own.length === 0) throw unresolved(`no URLs match prefix "${ownPrefix}"`);
  if (own.length > 1) throw unresolved(`ambiguous URLs [${own.join(' ')}] with prefix "${ownPrefix}"`);
  try {
    return new URL(own[0] as string);
  } catch {
    throw unresolved(`"${own[0]}" is no URL`);
  }
}

const internal = (message: string): StatusError => statusErrors.internal(new Error(message));
const unresolved = (why: string): StatusError => internal(`error resolving resource: ${why}`);
