import { isJsonObject, type DeepReadonly } from '@multiplane/apimachinery';

/** The status has no URL for this shard. Its text is for operators and providers. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  /** It has no URL at all yet. */
  readonly isMissing: boolean;

  constructor(why: string, { isMissing = false } = {}) {
    super(why);
    this.isMissing = isMissing;
  }
}

export interface EndpointUrlsOptions {
  /** The virtual workspace URL of this shard. */
  readonly own: string;
  /** Those of other shards. */
  readonly others: readonly string[];
  /** Whether URLs of no shard may be used. */
  readonly allowsExternal: boolean;
}

/** Equal endpoints, at least one. The list keeps its identity as long as the status it comes from. */
export interface EndpointUrls {
  readonly urls: readonly URL[];
  /** The servers are none of this control plane. */
  readonly isExternal: boolean;
}

/**
 * The URLs that serve the objects of a virtual resource to the consumers of this shard, of a status with the contract of
 * endpoint slices, `endpoints[].url`:
 *
 *  1. those below the virtual workspace URL of this shard (the rule of kcp pkg/endpointslice, which requires exactly one),
 *  2. if there are none, those that are below the virtual workspace URL of no other shard either, which serve all shards.
 *
 * URLs are compared after normalization, by origin and whole path segments. Throws EndpointError.
 */
export function endpointUrls(status: unknown, options: EndpointUrlsOptions): EndpointUrls {
  const all = urlsOf(status);
  const isBelow = (base: string) => {
    const parsed = new URL(base);
    const path = parsed.pathname.replace(/\/+$/, '');
    return ({ origin, pathname }: URL): boolean =>
      origin === parsed.origin && (pathname === path || pathname.startsWith(`${path}/`));
  };
  const own = all.filter(isBelow(options.own));
  if (own.length > 0) return { urls: own, isExternal: false };
  const ofShards = options.others.filter((url) => URL.canParse(url)).map(isBelow);
  const external = all.filter((url) => !ofShards.some((isOfShard) => isOfShard(url)));
  if (external.length > 0 && options.allowsExternal) return { urls: external, isExternal: true };
  const hint =
    external.length > 0
      ? ', and this shard has no --virtual-resource-ca-file for servers outside of the control plane'
      : '';
  throw new EndpointError(`no URLs match prefix "${options.own}"${hint}`);
}

function urlsOf(status: unknown): URL[] {
  if (status !== undefined && !isJsonObject(status)) throw new EndpointError('status field is of a wrong type');
  const endpoints = status?.['endpoints'];
  if (endpoints === undefined || (Array.isArray(endpoints) && endpoints.length === 0))
    throw new EndpointError('there are no endpoints', { isMissing: true });
  if (!Array.isArray(endpoints)) throw new EndpointError('endpoints field is of a wrong type');
  const urls = new Map<string, URL>();
  for (const [index, endpoint] of (endpoints as DeepReadonly<unknown[]>).entries()) {
    if (!isJsonObject(endpoint)) throw new EndpointError(`endpoint at index ${index} is not an object`);
    const { url } = endpoint;
    if (typeof url !== 'string' || url === '') throw new EndpointError(`missing url in endpoint at index ${index}`);
    if (!URL.canParse(url)) throw new EndpointError(`"${url}" is no URL`);
    const parsed = new URL(url);
    urls.set(parsed.href, parsed);
  }
  return [...urls.values()];
}
