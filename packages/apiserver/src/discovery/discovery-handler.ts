import { accepts, apiVersionOf, parseAccept, statusErrors } from '@multiplane/apimachinery';
import { acceptHeader, endpointKinds, negotiate } from '../endpoints/negotiation.ts';
import { clusterSurfaces, type Surface, type SurfaceOf } from '../registry/surface.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import type { Handler, RequestContext } from '../request-context.ts';
import { writeMethodNotAllowed, writeNotFoundText, writeObject, writeStatusError } from '../responses.ts';
import { SurfaceCache } from '../surface-cache.ts';
import { DiscoveryDocuments, type AggregatedVersion, type TaggedDocument } from './discovery-documents.ts';

export interface DiscoveryOptions {
  /** `host:port` that `/api` names; without it the one the client used. */
  readonly serverAddress?: string | undefined;
  /** Bytes of documents that are kept, as estimated. */
  readonly cachedBytes?: number | undefined;
}
export type DiscoveryModules =
  | { readonly resolver: ResourceResolver }
  /** For a server whose surfaces hang on something else than the logical cluster. */
  | { readonly surfaceOf: SurfaceOf };

/**
 * `/api`, `/apis` and what is below them down to the version, for one logical cluster. Documents depend on the surface
 * alone, so tenants with the same resources share them, and a change is visible as soon as the resolver knows it.
 */
export function discoveryHandler(options: DiscoveryOptions, modules: DiscoveryModules): Handler {
  const surfaceOf = 'surfaceOf' in modules ? modules.surfaceOf : clusterSurfaces(modules.resolver);
  const cache = new SurfaceCache<DiscoveryDocuments>(
    options.cachedBytes ?? 16 * 1024 * 1024,
    (documents) => documents.estimatedBytes,
  );
  return async (context) => {
    const surface = await surfaceOf(context);
    if (surface === undefined) {
      writeNotFoundText(context.exchange);
      return;
    }
    const documents = cache.get(surface.hash, () => new DiscoveryDocuments(surface.definitions()));
    const [prefix, ...rest] = context.info.path.split('/').filter((segment) => segment !== '');
    if (prefix === 'api') answerCore(context, documents, surface, rest, options.serverAddress);
    else answerGroups(context, documents, surface, rest);
  };
}

function answerCore(
  context: RequestContext,
  documents: DiscoveryDocuments,
  surface: Surface,
  rest: readonly string[],
  address?: string,
): void {
  const [version] = rest;
  if (version !== undefined) {
    const builtIn = documents.resources('', version) !== undefined || surface.isBuiltInGroup('');
    answerResources(context, documents, '', version, builtIn);
    return;
  }
  answer(
    context,
    true,
    () => documents,
    () => ({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [
        { clientCIDR: '0.0.0.0/0', serverAddress: address ?? String(context.exchange.headers['host'] ?? '') },
      ],
    }),
  );
}

function answerGroups(
  context: RequestContext,
  documents: DiscoveryDocuments,
  surface: Surface,
  rest: readonly string[],
): void {
  const [group, version] = rest;
  if (group === undefined) {
    answer(
      context,
      false,
      () => documents,
      () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: documents.groups() }),
    );
    return;
  }
  const builtIn = surface.isBuiltInGroup(group);
  if (version !== undefined) {
    answerResources(context, documents, group, version, builtIn);
    return;
  }
  const found = documents.group(group);
  if (found === undefined) answerMissing(context, builtIn);
  else answerPlain(context, builtIn, () => ({ kind: 'APIGroup', apiVersion: 'v1', ...found }));
}

function answerResources(
  context: RequestContext,
  documents: DiscoveryDocuments,
  group: string,
  version: string,
  builtIn: boolean,
): void {
  const resources = documents.resources(group, version);
  if (resources === undefined) {
    answerMissing(context, builtIn);
    return;
  }
  // The core group is the one whose list says no version of its own.
  const head = group === '' ? { kind: 'APIResourceList' } : { kind: 'APIResourceList', apiVersion: 'v1' };
  answerPlain(context, builtIn, () => ({ ...head, groupVersion: apiVersionOf({ group, version }), resources }));
}

/** `/api` and `/apis`: in the aggregated form for those who ask. */
function answer(
  context: RequestContext,
  core: boolean,
  documents: () => DiscoveryDocuments,
  plain: () => object,
): void {
  const form = formOf(acceptHeader(context.exchange.headers));
  if (form === 'plain' || !readsDocument(context, !core)) answerPlain(context, true, plain, !core);
  else writeTagged(context, documents().aggregated(core, form), form);
}

function answerPlain(context: RequestContext, builtIn: boolean, document: () => object, optionsToo = false): void {
  if (!readsDocument(context, optionsToo)) {
    writeMethodNotAllowed(context);
    return;
  }
  const negotiated = negotiate(context, builtIn ? endpointKinds.builtInPlain : endpointKinds.customPlain);
  writeObject(context, 200, document(), negotiated);
}

/** Discovery is read with GET alone, but `OPTIONS /apis` is served like it (K1.2). */
function readsDocument({ exchange }: RequestContext, optionsToo: boolean): boolean {
  return exchange.method === 'GET' || (optionsToo && exchange.method === 'OPTIONS');
}

function answerMissing(context: RequestContext, builtIn: boolean): void {
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

/** Whether If-None-Match names the tag (RFC 9110 §13.1.2, weak comparison). */
export function matchesTag(header: string | readonly string[] | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const text = typeof header === 'string' ? header : header.join(',');
  return text === etag || text === '*' || text.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * The form that Accept asks for first. v2beta1 is gone from Kubernetes 1.36, but clients of its time still ask for it
 * before the plain form: they get it unless they know v2; asking for nothing else is refused as 1.36 does.
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
