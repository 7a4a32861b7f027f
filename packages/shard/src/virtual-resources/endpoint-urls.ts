import {
  isJsonObject,
  labelSelectorFromObject,
  SelectorParseError,
  type DeepReadonly,
  type Json,
} from '@multiplane/apimachinery';

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
  /** Labels of this shard. */
  readonly labels: Readonly<Record<string, string>>;
  /** Virtual workspace URLs of other shards. */
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
 * endpoint slices, `endpoints[]` with `url` and `shards`.
 *
 * If endpoints say which shards they serve, those whose selector matches the labels of this shard with the most requirements;
 * `matchAll` has none, and endpoints that say nothing are left out (the rule of kcp, which requires exactly one). A URL that is
 * not below the virtual workspace URL of this shard never gets the credentials of the control plane: it is `isExternal`.
 *
 * If none says so:
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
  const selected = selectedUrls(status, options.labels);
  const candidates = selected ?? all;
  const own = candidates.filter(isBelow(options.own));
  if (own.length > 0) return { urls: own, isExternal: false };
  if (selected !== undefined && selected.length === 0)
    throw new EndpointError('no endpoint selects this shard by its labels');
  const ofShards = selected !== undefined ? [] : options.others.filter((url) => URL.canParse(url)).map(isBelow);
  const external = candidates.filter((url) => !ofShards.some((isOfShard) => isOfShard(url)));
  if (external.length > 0 && options.allowsExternal) return { urls: external, isExternal: true };
  const hint =
    external.length > 0
      ? ', and this shard has no --virtual-resource-ca-file for servers outside of the control plane'
      : '';
  throw new EndpointError(`no URLs match prefix "${options.own}"${hint}`);
}

interface ShardSelector {
  /** How many requirements it has. */
  readonly specificity: number;
  readonly matches: (labels: Readonly<Record<string, string>>) => boolean;
}

/** The URLs of the most specific selectors that match; undefined if no endpoint has a selector. */
function selectedUrls(status: unknown, labels: Readonly<Record<string, string>>): URL[] | undefined {
  const endpoints = (status as { readonly endpoints: readonly { readonly url: string; readonly shards?: Json }[] })
    .endpoints;
  let best = -1;
  let isSelective = false;
  let urls = new Map<string, URL>();
  for (const [index, { url, shards }] of endpoints.entries()) {
    const selector = shardSelectorOf(shards, index);
    if (selector === undefined) continue;
    isSelective = true;
    const { specificity } = selector;
    if (specificity < best || !selector.matches(labels)) continue;
    if (specificity > best) urls = new Map();
    best = specificity;
    const parsed = new URL(url);
    urls.set(parsed.href, parsed);
  }
  return isSelective ? [...urls.values()] : undefined;
}

/** Undefined: the endpoint does not say which shards it serves. */
function shardSelectorOf(shards: Json | undefined, index: number): ShardSelector | undefined {
  if (shards === undefined || shards === null) return undefined;
  if (!isJsonObject(shards)) throw new EndpointError(`shards in endpoint at index ${index} is not an object`);
  const { matchAll = false, selector } = shards;
  if (typeof matchAll !== 'boolean' || (selector !== undefined && !isJsonObject(selector)))
    throw new EndpointError(`shards in endpoint at index ${index} is not a shard selector`);
  if (selector === undefined) return matchAll ? { specificity: 0, matches: () => true } : undefined;
  if (matchAll)
    throw new EndpointError(`endpoint at index ${index} sets both matchAll and selector, which are mutually exclusive`);
  try {
    const parsed = labelSelectorFromObject(selector);
    return { specificity: parsed.requirements.length, matches: (labels) => parsed.matches(labels) };
  } catch (error) {
    if (!(error instanceof SelectorParseError)) throw error;
    throw new EndpointError(`endpoint at index ${index} has an invalid shard selector: ${error.message}`);
  }
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
