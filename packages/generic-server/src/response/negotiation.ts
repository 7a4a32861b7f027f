import {
  accepts,
  parseAccept,
  StatusError,
  statusErrors,
  type AcceptClause,
  type MediaType as AcceptedType,
} from '@multiplane/apimachinery';
import { LRUCache } from 'lru-cache';
import type { Headers } from '../server/exchange.ts';

export type Encoding = 'json' | 'yaml' | 'protobuf';

/** A media type of objects. */
interface MediaType {
  readonly text: string;
  readonly encoding: Encoding;
}
const json: MediaType = { text: 'application/json', encoding: 'json' };
const yaml: MediaType = { text: 'application/yaml', encoding: 'yaml' };
const protobuf: MediaType = { text: 'application/vnd.kubernetes.protobuf', encoding: 'protobuf' };

/** Kinds into which a client may request objects to be transformed. */
export type TransformKind = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Transform {
  readonly kind: TransformKind;
  readonly group: 'meta.k8s.io';
  readonly version: 'v1' | 'v1beta1';
  /** Metadata has the annotation with the API version of its object. */
  readonly namesOriginalVersion?: boolean | undefined;
}

/** The negotiated form of a response. */
export interface Negotiated {
  readonly mediaType: string;
  readonly encoding: Encoding;
  readonly transform: Transform | undefined;
  /** Indented JSON. */
  readonly pretty: boolean;
}

/** The forms that an endpoint offers. To be created once: the object is the key of a cache. */
export interface EndpointKind {
  /** Built-in endpoints have another error text for requests that accept none of their media types. */
  readonly origin: 'built-in' | 'custom';
  /** `object` and `list` can be transformed, `plain` cannot (reviews, discovery), `watch` has no YAML. */
  readonly shape: 'object' | 'list' | 'watch' | 'plain';
  readonly table: boolean;
  /** What can be encoded as protobuf: objects, or only their metadata. */
  readonly protobuf: 'objects' | 'metadata';
}

/** `table: false` for kinds without columns (reviews). */
export const endpointKinds = {
  builtInObject: { origin: 'built-in', shape: 'object', table: true, protobuf: 'objects' },
  builtInList: { origin: 'built-in', shape: 'list', table: true, protobuf: 'objects' },
  builtInWatch: { origin: 'built-in', shape: 'watch', table: true, protobuf: 'objects' },
  builtInPlain: { origin: 'built-in', shape: 'plain', table: false, protobuf: 'objects' },
  customObject: { origin: 'custom', shape: 'object', table: true, protobuf: 'metadata' },
  customList: { origin: 'custom', shape: 'list', table: true, protobuf: 'metadata' },
  customWatch: { origin: 'custom', shape: 'watch', table: true, protobuf: 'metadata' },
  customPlain: { origin: 'custom', shape: 'plain', table: false, protobuf: 'objects' },
  // CustomResourceDefinitions of kinds that Kubernetes has built in.
  nativeObject: { origin: 'custom', shape: 'object', table: true, protobuf: 'objects' },
  nativeList: { origin: 'custom', shape: 'list', table: true, protobuf: 'objects' },
  nativeWatch: { origin: 'custom', shape: 'watch', table: true, protobuf: 'objects' },
} as const satisfies Record<string, EndpointKind>;

/** The parts of a request that negotiation reads. */
export interface NegotiationInput {
  readonly exchange: { readonly headers: Headers };
  readonly info: { readonly query: URLSearchParams };
}

/** Results by endpoint kind and `Accept` header: clients send few different values. */
const resultsByKind = new Map<EndpointKind, LRUCache<string, Negotiated | StatusError>>();
const maxResultsPerKind = 128;
/** Longer headers are not cached. */
const maxCachedLength = 512;

/**
 * Negotiates the form of a response: clauses of `Accept` by descending weight, each matched against JSON, YAML and protobuf;
 * clauses with a transform that the endpoint does not offer are skipped. Objects are stored as JSON, so a client that accepts
 * JSON and protobuf with equal weight gets JSON. For metadata the order of the clauses decides, as in kube-apiserver: items of a
 * list have their kind in JSON only, and metadata clients, which prefer protobuf, compare them with single objects. Throws a
 * StatusError 406.
 */
export function negotiate(context: NegotiationInput, kind: EndpointKind): Negotiated {
  const accept = acceptHeader(context.exchange.headers);
  let results = resultsByKind.get(kind);
  if (results === undefined) {
    results = new LRUCache({ max: maxResultsPerKind });
    resultsByKind.set(kind, results);
  }
  let result = results.get(accept);
  if (result === undefined) {
    result = choose(accept, kind);
    if (accept.length <= maxCachedLength) results.set(accept, result);
  }
  if (result instanceof StatusError) throw result;
  if (result.pretty || result.encoding !== 'json') return result;
  return wantsPretty(context) ? prettyOf(result) : result;
}

/** The `Accept` header as one string; empty if there is none. */
export function acceptHeader(headers: Headers): string {
  const { accept } = headers;
  if (accept === undefined) return '';
  return typeof accept === 'string' ? accept : accept.join(',');
}

const prettyForms = new WeakMap<Negotiated, Negotiated>();
function prettyOf(negotiated: Negotiated): Negotiated {
  let pretty = prettyForms.get(negotiated);
  if (pretty === undefined) {
    pretty = { ...negotiated, pretty: true };
    prettyForms.set(negotiated, pretty);
  }
  return pretty;
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** The `pretty` parameter; by default true for curl, Wget and browsers, as in kube-apiserver. */
function wantsPretty({ exchange, info }: NegotiationInput): boolean {
  const parameter = info.query.size === 0 ? null : info.query.get('pretty');
  if (parameter !== null && parameter !== '') return trueTexts.has(parameter);
  const agent = exchange.headers['user-agent'];
  if (typeof agent !== 'string') return false;
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

function choose(accept: string, kind: EndpointKind): Negotiated | StatusError {
  if (kind.origin === 'built-in' && !namesServedType(accept)) return notRepresentable(kind);
  if (accept === '') return { mediaType: json.text, encoding: 'json', transform: undefined, pretty: false };
  const offered = [json, yaml, protobuf];
  const clauses = parseAccept(accept);
  for (const clause of clauses) {
    for (const type of offered) {
      const chosen = accepts(clause, type.text) ? readParameters(clause, type, kind) : undefined;
      if (chosen === undefined) continue;
      // YAML cannot be streamed, and what comes first is not passed over.
      if (kind.shape === 'watch' && type === yaml) return statusErrors.notAcceptable(watchTypes);
      return type === protobuf && chosen.transform === undefined
        ? (jsonEquivalent(clause, clauses, kind) ?? chosen)
        : chosen;
    }
  }
  return statusErrors.notAcceptable(objectTypes);
}

/** The objects in JSON, if the client accepts them with equal weight. */
function jsonEquivalent(
  { quality }: AcceptClause,
  clauses: readonly AcceptClause[],
  kind: EndpointKind,
): Negotiated | undefined {
  for (const clause of clauses) {
    if (clause.quality !== quality || !accepts(clause, json.text)) continue;
    const other = readParameters(clause, json, kind);
    if (other !== undefined && other.transform === undefined) return other;
  }
  return undefined;
}

function readParameters(clause: AcceptedType, type: MediaType, kind: EndpointKind): Negotiated | undefined {
  const { parameters } = clause;
  let transform: Transform | undefined;
  const as = parameters.get('as');
  const group = parameters.get('g');
  const version = parameters.get('v');
  if (as !== undefined || group !== undefined || version !== undefined) {
    transform = transformOf(as, group, version, kind);
    if (transform === undefined) return undefined;
  }
  const { encoding } = type;
  if (encoding === 'protobuf' && (transform === undefined ? kind.protobuf === 'metadata' : transform.kind === 'Table'))
    return undefined;
  const stream = parameters.get('stream');
  if (stream !== undefined && (stream !== 'watch' || encoding === 'yaml')) return undefined;
  const pretty = encoding === 'json' && kind.shape !== 'watch' && parameters.get('pretty') === '1';
  const mediaType = encoding === 'protobuf' && kind.shape === 'watch' ? type.text + watchSuffix : type.text;
  return { mediaType, encoding, transform, pretty };
}

function transformOf(
  as: string | undefined,
  group: string | undefined,
  version: string | undefined,
  kind: EndpointKind,
): Transform | undefined {
  if (kind.shape === 'plain' || group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1'))
    return undefined;
  switch (as) {
    case 'Table':
      return kind.table ? { kind: as, group, version } : undefined;
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return { kind: as, group, version };
    default:
      return undefined;
  }
}

const watchSuffix = ';stream=watch';
const objectTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const watchTypes = [objectTypes[0] + watchSuffix, objectTypes[2] + watchSuffix];
const servedTypes = new Set(objectTypes);

/** Whether a clause names a media type of built-in endpoints exactly; parameters and weights are ignored. */
function namesServedType(accept: string): boolean {
  if (accept === '') return true;
  for (const clause of accept.split(',')) {
    const end = clause.indexOf(';');
    const type = (end < 0 ? clause : clause.slice(0, end)).trim();
    if (type === '*/*' || servedTypes.has(type)) return true;
  }
  return false;
}

function notRepresentable(kind: EndpointKind): StatusError {
  return notRepresentableAs(
    kind.shape === 'list' || kind.shape === 'watch' ? [...objectTypes, ...watchTypes] : objectTypes,
  );
}

/** 406 in the words of the router of kube-apiserver. */
export const notRepresentableAs = (types: readonly string[]): StatusError =>
  new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${types.join(', ')}`,
    details: {},
  });
