import { writeObject } from '../write-object-response.ts';
import { accepts, apiVersionOf, parseAccept, statusErrors } from '@multiplane/apimachinery';
import {
  acceptHeader,
  endpointKinds,
  type Handler,
  negotiate,
  type RequestContext,
  writeMethodNotAllowed,
  writeNotFoundText,
  writeStatusError,
} from '@multiplane/generic-server';
import { clusterServedApis, type ServedApis, type ServedApisOf } from '../registry/definitions/served-apis.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { WeightedCache } from '../weighted-cache.ts';
import { DiscoveryDocuments, type AggregatedVersion, type TaggedDocument } from './discovery-documents.ts';

export interface DiscoveryOptions {
  /** `host:port` in the response of `/api`; default: the Host header. */
  readonly serverAddress?: string | undefined;
  /** Limit of cached documents, by estimated bytes. */
  readonly cachedBytes?: number | undefined;
  /** Of a virtual workspace. */
  readonly isVirtual?: boolean | undefined;
  /** Never the aggregated form, also for clients that accept it. */
  readonly isPlain?: boolean | undefined;
}
export type DiscoveryModules =
  | { readonly resolver: ResourceResolver }
  /** For servers whose served APIs do not depend on the logical cluster alone. */
  | { readonly servedApisOf: ServedApisOf };

/**
 * `/api`, `/apis` and the paths below them down to the version, for one logical cluster. Documents depend on the served
 * APIs only, so logical clusters with equal APIs share them, and changes are visible as soon as the resolver knows
 * them.
 */
export function discoveryHandler(options: DiscoveryOptions, modules: DiscoveryModules): Handler {
  const servedApisOf = 'servedApisOf' in modules ? modules.servedApisOf : clusterServedApis(modules.resolver);
  const cache = new WeightedCache<DiscoveryDocuments>(
    options.cachedBytes ?? 16 * 1024 * 1024,
    (documents) => documents.estimatedBytes,
  );
  return async (context) => {
    const servedApis = await servedApisOf(context);
    if (servedApis === undefined) {
      writeNotFoundText(context.exchange);
      return;
    }
    const documents = cache.get(
      servedApis.hash,
      () => new DiscoveryDocuments(servedApis.definitions(), options.isVirtual),
    );
    const [prefix, ...rest] = context.info.path.split('/').filter((segment) => segment !== '');
    if (prefix === 'api') respondCore(context, documents, servedApis, rest, options);
    else respondGroups(context, documents, servedApis, rest, options);
  };
}

function respondCore(
  context: RequestContext,
  documents: DiscoveryDocuments,
  servedApis: ServedApis,
  rest: readonly string[],
  { serverAddress, isPlain }: DiscoveryOptions,
): void {
  const [version] = rest;
  if (version !== undefined) {
    const builtIn = documents.resources('', version) !== undefined || servedApis.isBuiltInGroup('');
    respondResources(context, documents, '', version, builtIn);
    return;
  }
  respondRoot(
    context,
    { core: true, isPlain },
    () => documents,
    () => ({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [
        { clientCIDR: '0.0.0.0/0', serverAddress: serverAddress ?? String(context.exchange.headers['host'] ?? '') },
      ],
    }),
  );
}

function respondGroups(
  context: RequestContext,
  documents: DiscoveryDocuments,
  servedApis: ServedApis,
  rest: readonly string[],
  { isPlain }: DiscoveryOptions,
): void {
  const [group, version] = rest;
  if (group === undefined) {
    respondRoot(
      context,
      { core: false, isPlain },
      () => documents,
      () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: documents.groups() }),
    );
    return;
  }
  const builtIn = servedApis.isBuiltInGroup(group);
  if (version !== undefined) {
    respondResources(context, documents, group, version, builtIn);
    return;
  }
  const found = documents.group(group);
  if (found === undefined) respondNotFound(context, builtIn);
  else respondPlain(context, 'aggregated', () => ({ kind: 'APIGroup', apiVersion: 'v1', ...found }));
}

function respondResources(
  context: RequestContext,
  documents: DiscoveryDocuments,
  group: string,
  version: string,
  builtIn: boolean,
): void {
  const resources = documents.resources(group, version);
  if (resources === undefined) {
    respondNotFound(context, builtIn);
    return;
  }
  // Only the list of the core group has no apiVersion.
  const head = group === '' ? { kind: 'APIResourceList' } : { kind: 'APIResourceList', apiVersion: 'v1' };
  respondPlain(context, builtIn ? 'built-in' : 'custom', () => ({
    ...head,
    groupVersion: apiVersionOf({ group, version }),
    resources,
  }));
}

/** Responds to `/api` and `/apis`, in the aggregated form if it is accepted. */
function respondRoot(
  context: RequestContext,
  { core, isPlain }: { readonly core: boolean; readonly isPlain: boolean | undefined },
  documents: () => DiscoveryDocuments,
  plain: () => object,
): void {
  const kind = core ? 'built-in' : 'aggregated';
  // With a slash at its end, the aggregator of kube-apiserver serves the path without the aggregated form.
  const form =
    isPlain === true || context.info.path === '/apis/' ? 'plain' : formOf(acceptHeader(context.exchange.headers));
  if (form === 'plain' || !isDocumentRead(context, kind)) respondPlain(context, kind, plain);
  else writeTagged(context, documents().aggregated(core, form), form);
}

/**
 * The server within kube-apiserver that has the document: that of the built-in kinds, that of definitions, or the aggregator
 * before both, which has `/apis` and the groups.
 */
type DocumentKind = 'built-in' | 'custom' | 'aggregated';

function respondPlain(context: RequestContext, kind: DocumentKind, document: () => object): void {
  if (!isDocumentRead(context, kind)) {
    writeMethodNotAllowed(context);
    return;
  }
  const negotiated = negotiate(context, kind === 'built-in' ? endpointKinds.builtInPlain : endpointKinds.customPlain);
  writeObject(context, 200, document(), negotiated);
}

/** Discovery supports GET only, but the aggregator does not look at the method. */
const isDocumentRead = ({ exchange }: RequestContext, kind: DocumentKind): boolean =>
  exchange.method === 'GET' || kind === 'aggregated';

function respondNotFound(context: RequestContext, builtIn: boolean): void {
  if (builtIn) writeStatusError(context, statusErrors.unknownResource());
  else writeNotFoundText(context.exchange);
}

function writeTagged({ exchange }: RequestContext, document: TaggedDocument, version: AggregatedVersion): void {
  exchange.setHeader('etag', document.etag);
  exchange.setHeader('vary', 'Accept');
  exchange.setHeader('cache-control', 'public');
  if (matchesTag(exchange.headers['if-none-match'], document.etag)) {
    exchange.respond(304, '');
    return;
  }
  exchange.setHeader('content-type', `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`);
  exchange.respond(200, document.bytes);
}

/** Whether If-None-Match contains the ETag (RFC 9110 section 13.1.2, weak comparison). */
export function matchesTag(header: string | readonly string[] | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const text = typeof header === 'string' ? header : header.join(',');
  return text === etag || text === '*' || text.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * The first form in the Accept header. Kubernetes 1.36 does not serve v2beta1, but older clients request it before the
 * plain form: they get it unless they also accept v2. A request that accepts v2beta1 only is rejected, as in 1.36.
 */
function formOf(accept: string): AggregatedVersion | 'plain' {
  let beta = false;
  for (const clause of parseAccept(accept)) {
    if (!accepts(clause, 'application/json')) continue;
    const { parameters } = clause;
    if (parameters.get('as') === undefined) return beta ? 'v2beta1' : 'plain';
    if (parameters.get('as') !== 'APIGroupDiscoveryList' || parameters.get('g') !== 'apidiscovery.k8s.io') continue;
    if (parameters.get('v') === 'v2') return 'v2';
    if (parameters.get('v') === 'v2beta1') beta = true;
  }
  return 'plain';
}
